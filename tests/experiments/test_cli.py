from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from scripted_engine import ScriptedEngine

from experiments import cli, records
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.prompts import Asked
from toolkit.decoding.request import Reply

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "transformers", "scipy", "matplotlib", "datasets", "accelerate", "peft", "pyarrow", "ray", "fastapi"}


def toolkit(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.outcome([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def scripted_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OperatorTransfer, "_make", lambda self, m, v: ScriptedEngine(m, v, self.suite, self.config))


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "configs/operators/smollm2.yaml"], ["run", "--help"]])
def test_torch_is_not_imported_where_it_is_not_needed(arguments: list[str]) -> None:
    code = f"import sys; from experiments.cli import outcome; code = outcome({arguments!r}); "
    code += f"assert code == 0, code; heavy = {HEAVY} & set(sys.modules); "
    code += "assert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_imports_no_verb() -> None:
    code = "import sys; from experiments.cli import outcome; outcome(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert all(f"  {verb} " in done.stdout.replace("│ ", "  ") for verb in ("plan", "run", "score", "plugin"))
    assert "'pydantic'" not in done.stdout and "'experiments.verbs'" not in done.stdout


def test_run_prints_the_matrix_and_goes_on(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path, scripted_engine: None
) -> None:
    run = tmp_path / "run"
    code, out, err = toolkit(capsys, "run", config, "--out", run, "--limit", 2)
    assert code == 0 and "16 samples of 48 planned" in out and "100 %  16/16" in err
    code, out, err = toolkit(capsys, "run", config, "--out", run)
    assert code == 0 and "48 samples in" in out and "(32 made now" in out and "†" in out and "/6" in out
    assert "cell done: tiny strict-arrow N=0 +" in err
    code, out, _ = toolkit(capsys, "status", run, "--json")
    assert code == 0 and json.loads(out)["samples"] == 48
    code, out, _ = toolkit(capsys, "run", config, "--out", run, "--json")
    assert json.loads(out) == {"run": str(run), "made": 0, "before": 48, "planned": 48}


def test_score_needs_no_model_and_rewrites_only_what_changed(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path, scripted_engine: None
) -> None:
    run = tmp_path / "run"
    assert toolkit(capsys, "run", config, "--out", run)[0] == 0
    path = run / "samples" / "tiny.strict-arrow.jsonl"
    before = path.read_bytes()
    assert "0 of 48 samples changed" in toolkit(capsys, "score", run)[1]
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b'"strict":true', b'"strict":false', 1))
    code, out, _ = toolkit(capsys, "score", run, "--scorer", "call")
    assert code == 0 and "0 of 48" in out
    code, out, _ = toolkit(capsys, "score", run, "--scorer", "strict", "--json")
    assert code == 0 and json.loads(out)["changed"] == 1
    assert path.read_bytes() == before
    assert toolkit(capsys, "score", run, "--scorer", "lax")[0] == 2


def test_plan_shows_grid_prompts_and_power(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = toolkit(capsys, "plan", config, "--set", "models.0.per_second=2", "--json")
    plan = json.loads(out)
    assert code == 0 and (plan["samples"], plan["cells"], plan["trials"]) == (48, 8, [6])
    assert plan["seconds"] == {"tiny": 24} and len(plan["prompts"]) == 8
    assert plan["prompts"][0]["prompt"].endswith("?\n<AI>") and plan["prompts"][0]["tokens"] == {"tiny": None}
    assert plan["power"][0]["half_width"] > plan["power"][0]["detectable_paired"] / 3
    code, out, _ = toolkit(capsys, "plan", config)
    assert code == 0 and "48 samples: 8 cells of 6 trials" in out and "about --" in out
    monkeypatch.chdir(tmp_path)
    with records.RunWriter(Path("runs/small")) as writer:
        writer.write("tiny.strict-arrow", [], [{"id": "tiny/x", "seconds": 0.5}, {"id": "tiny/y", "seconds": 1.5}])
    assert json.loads(toolkit(capsys, "plan", config, "--json")[1])["seconds"] == {"tiny": 48}


@pytest.mark.parametrize(
    ("change", "where", "fix"),
    [
        ("trials=0", "trials", "greater than or equal to 1"),
        ("trials=", "trials", "valid integer"),
        ("trails=5", "trails", "did you mean 'trials'"),
        ("skills=['%']", "skills", "the suite has +, *, ^, &, -, |"),
        ("skills=[]", "skills", "at least 1"),
        ("shots=[9]", "shots", "use 0 to 5"),
        ("models=[]", "models", "at least 1"),
        ("models.0.dtype=float8", "models.0.dtype", "'float32'"),
        ("models.0.nmae=x", "models.0.nmae", "remove it"),
        ("models.7.name=x", "models.7.name", "nothing under '7'"),
        ("variants=[strict]", "variants", "strict-arrow"),
        ("variants=[paper-none]", "variants", "strict-none"),
        ("experiment=operator", "experiment", "use operators"),
        ("suite=planets", "suite", "calendar, operators, units"),
        ("shots=[1, 1]", "shots", "twice"),
        ("design=leave-one-out", "design|leave-one-out", "remove the key shots"),
        ("trials", "--set trials", "key=value"),
        ("trials=true", "trials", "valid integer"),
        ("trials=2000000", "trials", "less than or equal to 10000"),
        ("trials=2023-99-99", "--set trials", "month must be in"),
        ("variants=[strict-arrow-t" + "9" * 400 + "]", "variants", "strict-arrow"),
        ("trials=" + "9" * 5000, "--set trials", "correct the syntax"),
        ("experiment=[operators]", "experiment", "use operators"),
    ],
)
def test_a_bad_configuration_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], config: Path, change: str, where: str, fix: str
) -> None:
    code, out, err = toolkit(capsys, "plan", config, "--set", change)
    assert code == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith("toolkit: ") and fix in err
    assert any(part in err for part in where.split("|"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "no such file"),
        ("[1, 2]", "not a mapping"),
        ("a: [", "not YAML"),
        ("trials: 1\ntrials: 2", "twice"),
        ("trials: 1", "experiment"),
        ("experiment: operators\ntrials: 5", "add the key 'models'"),
        ("!!python/object/apply:os.system [ls]", "not YAML"),
        ("a: 2023-99-99", "month must be in"),
        ("a: &a [x]\nb: [*a, *a]", "the alias *a is not taken"),
        ("a: " + "[" * 5000, "recursion"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | None, what: str
) -> None:
    path = tmp_path / "bad.yaml"
    if text is not None:
        path.write_text(text)
    code, _, err = toolkit(capsys, "run", path, "--out", tmp_path / "run")
    assert code == 2 and what in err and str(path) in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arguments", [["rnu"], ["run"], ["run", "x", "--lmit", "3"], ["status", "nowhere"]])
def test_a_bad_command_line_is_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, _, err = toolkit(capsys, *arguments)
    assert code == 2 and err.startswith("toolkit: ") and err.count("\n") == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_every_answer(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    class Stopped(ScriptedEngine):
        def answer(self, asked: Iterable[Asked]) -> Iterator[Reply]:
            for number, reply in enumerate(super().answer(asked)):
                if number == 11:
                    os.kill(os.getpid(), how)
                yield reply

    monkeypatch.setattr(OperatorTransfer, "_make", lambda self, m, v: Stopped(m, v, self.suite, self.config))
    child = os.fork()
    if child == 0:
        with (tmp_path / "err").open("w") as stream, redirect_stderr(stream):
            code = cli.outcome(["run", str(config), "--out", str(tmp_path / "run")])
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    said = (tmp_path / "err").read_text()
    assert said.endswith("toolkit: stopped; run the same command to go on\n") and "Traceback" not in said
    kept = (tmp_path / "run" / "samples" / "tiny.strict-arrow.jsonl").read_bytes().splitlines()
    assert len(kept) == 11
