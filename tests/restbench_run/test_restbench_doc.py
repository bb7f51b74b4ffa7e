"""docs/restbench.md: its short commands run and end in what the page shows; those that take long are checked."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from experiments import base
from experiments.cli import outcome
from experiments.restbench.report import OUTCOMES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "restbench.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_short_commands_print_what_the_page_shows(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [text for language, text in FENCE.findall(PAGE) if language == "console"]
    commands = [block.partition("\n") for text in blocks for block in re.split(r"^\$ ", text, flags=re.M)[1:]]
    assert [shlex.split(line)[1] for line, _, _ in commands] == ["rest", "report", "verify", "compare"]
    for line, _, shown in commands:
        assert outcome(shlex.split(line)[1:]) == 0
        # how many tokens there are depends on the prompts, where a line ends on the terminal
        printed = re.sub(r"\d+ tokens", "N tokens", " ".join(capsys.readouterr().out.split()))
        assert printed.endswith(re.sub(r"\d+ tokens", "N tokens", " ".join(shown.split())))


@pytest.mark.parametrize("line", re.findall(r"^toolkit run (.*)$", PAGE, re.MULTILINE))
def test_long_runs_are_described_rightly(line: str, folder: Path) -> None:
    config, *options = shlex.split(line)
    sets = [value for key, value in pairwise(options) if key == "--set"]
    experiment, _ = base.load(ROOT / config, sets)
    assert next(experiment.items()).id


def test_the_page_names_what_there_is() -> None:
    configs = {f"configs/restbench/{path.name}" for path in (ROOT / "configs" / "restbench").glob("*.yaml")}
    assert set(re.findall(r"configs/restbench/\w+\.yaml", PAGE)) == configs
    assert {name for name in OUTCOMES if name != "success"} <= set(re.findall(r"`(\w+)`", PAGE))
    for names in re.findall(r"^\| ((?:`[\w/]+(?:\.py)?`(?:, )?)+) \|", PAGE.partition("## Where things")[2], re.M):
        for name in re.findall(r"`([^`]+)`", names):
            assert (ROOT / "experiments" / "restbench" / name).exists(), name
