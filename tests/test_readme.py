"""README.md: its commands exist and run, its Python runs, and its trace is what the real model and interceptor do."""

from __future__ import annotations

import os
import re
import runpy
import shlex
from pathlib import Path

import pytest

from experiments.cli import outcome

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*?)(?:\s{2,}#.*)?$", PAGE, re.MULTILINE)


def test_the_two_commands_are_scripts_and_ci_runs_the_second():
    assert COMMANDS[:2] == ["scripts/run.sh", "scripts/test.sh"]
    assert all(os.access(ROOT / command, os.X_OK) for command in COMMANDS[:2])
    assert "scripts/test.sh" in (ROOT / ".ci" / "run").read_text()
    assert "configs/operators/smollm2.yaml" in (ROOT / "scripts" / "run.sh").read_text()


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    named = re.findall(r"`((?:configs|scripts|docs|results)/[^`*]+)`", PAGE)
    for target in links + named:
        assert (ROOT / target.split()[0]).exists(), target


def test_every_toolkit_command_is_one(capsys):
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] == "toolkit":
            assert outcome([words[1], "--help"]) == 0, command


@pytest.mark.slow
def test_plan_run_report_verify_compare(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "results").symlink_to(ROOT / "results")
    chain = [c for c in COMMANDS if c.startswith("toolkit ") and "gpt_neo" not in c]
    assert [c.split()[1] for c in chain[:5]] == ["plan", "run", "report", "verify", "compare"]
    for command in chain[:5]:
        assert outcome(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    assert (tmp_path / "runs/smollm2/report/report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_the_five_lines_and_the_trace(tmp_path, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    script = tmp_path / "five_lines.py"
    script.write_text(code)
    scope = runpy.run_path(str(script))
    assert capsys.readouterr().out == "55 * 42 is 2310.\n"
    trace = re.search(r"^model {5}( 55 .*?) {4,}.*\ntool +( -> .*?) {4,}.*\nmodel +( 2310\.)", PAGE, re.MULTILINE)
    assert trace is not None and "".join(trace.groups()).strip() == scope["answer"].text.strip()
    (call,) = scope["answer"].calls
    assert (call.name, call.arguments, call.outcome.text) == ("MATH", "55 * 42", "2310")
