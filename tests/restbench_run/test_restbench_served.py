"""A model behind an OpenAI-compatible server, by configuration; and the `rest` commands of this experiment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import records
from experiments.cli import outcome
from experiments.restbench.backends import Backend, oracle
from toolkit.models.completion import Completion
from toolkit.models.scripted import ScriptedModel

sys.path.append(str(Path(__file__).resolve().parents[1] / "completion"))
from openai_server import openai_server


class Noting:
    """The oracle; keeps what it writes."""

    name = "noting"

    def __init__(self, inner: Any, texts: list[str]) -> None:
        self._inner, self._texts, self.context, self.count = inner, texts, inner.context, inner.count

    def complete(self, *asked: Any) -> list[Completion]:
        done: list[Completion] = self._inner.complete(*asked)
        self._texts += [each.text for each in done]
        return done


@pytest.mark.parametrize("scheme", ["openai", "completions"])
def test_a_served_model_does_what_it_does_here(
    scheme: str, typed: dict[str, Any], play: Callable[..., Any], tmp_path: Path
) -> None:
    texts: list[str] = []
    one = {**typed, "scenarios": ["tmdb"], "tasks": {"tmdb": [5]}, "strategies": ["no-schema-parser"]}
    play(one, tmp_path / "here", lambda _: Backend({}, lambda *about: Noting(oracle(*about), texts)))
    with openai_server(ScriptedModel(texts, context=65_536)) as url:
        play({**one, "models": [{"name": "oracle", "model": f"{scheme}:{url}"}]}, tmp_path / "served")
    (here,), (served,) = (list(records.read_samples(tmp_path / name)) for name in ("here", "served"))
    assert served["scores"]["success"] and served["http"] == here["http"] and served["trace"] == here["trace"]
    described = records.read_header(tmp_path / "served")["models"]["oracle"]
    assert described["model"].startswith(scheme) and described["context"] == 65_536


def test_bench_runs_and_prints(folder: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["rest", "bench", "--model", "oracle", "--strategy", "no-schema-parser", "--scenario", "spotify"]
    words += ["--task", "44", "--data", str(folder), "--out", str(tmp_path)]
    assert outcome(words) == 0
    assert "spotify: success 1/1 = 100.0 % [20.7, 100.0], correct path 100.0 %" in capsys.readouterr().out
    assert outcome([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["n"] == row["successes"] == 1


def test_serve_is_mounted_and_refuses_unknown_services(capsys: Any) -> None:
    assert outcome(["rest", "serve", "imdb"]) == 2
    assert "use one of spotify, tmdb" in capsys.readouterr().err
    assert outcome(["rest", "--help"]) == 0
    assert {"ask", "bench", "serve"} <= set(capsys.readouterr().out.split())


def test_the_toolkit_itself_knows_no_experiment() -> None:
    code = "import toolkit.restgpt.cli, sys; sys.exit(any(name.startswith('experiments') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
