"""`rest ask` as a person or a program runs it: streams, exit codes, JSON, trace page, mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from local_http import serving
from loop_parts import FOUND, caller, document, parser, planner, selector
from typer.testing import CliRunner

from toolkit.errors import UserError
from toolkit.restgpt.cli import app, printable, read_limits
from toolkit.restgpt.sandbox import protections

QUESTION = "Which id has the drill?"
ANSWERED = [*FOUND, planner("end", "The drill has the id 4711.\x1b[31m")]


@pytest.fixture
def command(tmp_path, service):
    """command(script, *options) runs `rest ask` against the rental service on a socket."""
    (tmp_path / "spec.json").write_text(json.dumps(document()), encoding="utf-8")

    def run(script, *options: str):
        (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
        with serving(service) as url:
            arguments = ["ask", QUESTION, "--spec", str(tmp_path / "spec.json"), "--server", url]
            return CliRunner().invoke(app, [*arguments, "--model", f"scripted:{tmp_path / 'script.json'}", *options])

    return run


def test_answer_on_stdout_progress_on_stderr(command):
    result = command(ANSWERED)
    assert (result.exit_code, result.stdout) == (0, "The drill has the id 4711.[31m\n")
    for words in (
        "plan (next) Find the drill",
        "calls GET /tools/search",
        "send GET http",
        "got 200 ok",
        "result Cordless",
    ):
        assert words in result.stderr
    assert "\x1b[31m" not in result.stderr


def test_could_not_is_exit_code_1(command, service):
    result = command([planner("next", "x"), selector("GET /tools/search")])
    assert result.exit_code == 1 and result.stdout.startswith("Could not go on: the script has no reply left")


def test_the_protections_of_the_sandbox_are_said_first(command):
    assert command(ANSWERED).stderr.startswith(f"sandbox for the model's programs: {', '.join(protections())}\n")


def test_a_trace_that_cannot_be_written_is_known_before_the_run(command, service, tmp_path):
    result = command(ANSWERED, "--trace", str(tmp_path / "no" / "such" / "folder.html"))
    assert isinstance(result.exception, UserError) and service.requests == []


def test_json_record(command):
    result = command(ANSWERED, "--json")
    record = json.loads(result.stdout)
    assert (record["status"], record["strategy"]) == ("answered", "restgpt")
    assert [step["kind"] for step in record["trace"]["steps"]].count("exchange") == 1


def test_trace_page(command, tmp_path):
    page = tmp_path / "trace.html"
    command(ANSWERED, "--trace", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and QUESTION in text and "Cordless drill has the id 4711" in text
    with pytest.raises(UserError, match="cannot write the trace"):
        raise command(ANSWERED, "--trace", str(tmp_path / "no" / "where.html")).exception


def test_dry_run_sends_nothing(command, service):
    result = command(FOUND[:3], "--dry-run")
    assert result.exit_code == 0 and service.requests == [] and "/tools/search?name=drill" in result.stderr


@pytest.mark.parametrize(("options", "sent"), [((), 0), (("--yes",), 1)])
def test_writes_without_a_person_need_yes(command, service, options, sent):
    body = {"tool_id": 4711, "days": 2}
    script = [planner("next", "Rent"), selector("POST /rentals"), caller("POST /rentals", body=body)]
    script += [parser("print(data['id'])"), planner("end", "ok", solved=bool(sent))]
    result = command(script if sent else [*script[:3], script[4]], *options)
    assert len(service.rentals) == sent and result.exit_code == (0 if sent else 1)
    assert ("--yes" in result.stderr) == (not sent)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--limit", "coffee=3"), "there is no limit 'coffee'"),
        (("--limit", "calls=many"), "'many' is not a number"),
        (("--limit", "calls=0"), "must be above 0"),
        (("--strategy", "magic"), "there is no strategy 'magic'"),
        (("--server", "rental"), "not a complete http"),
        (("--spec", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_mistakes_are_one_line(command, options, words):
    error = command(ANSWERED, *options).exception
    assert isinstance(error, UserError) and words in str(error) and "\n" not in str(error)


def test_a_server_that_is_down(tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(document()), encoding="utf-8")
    (tmp_path / "script.json").write_text(json.dumps([*FOUND[:3], planner("end", "It is down.", solved=False)]))
    arguments = ["ask", QUESTION, "--spec", str(tmp_path / "spec.json"), "--server", "http://127.0.0.1:9"]
    result = CliRunner().invoke(app, [*arguments, "--model", f"scripted:{tmp_path / 'script.json'}"])
    assert (result.exit_code, result.stdout) == (1, "Could not: It is down.\n") and "connect" in result.stderr


def test_limits_are_read():
    limits = read_limits(["calls=3", "sub-tasks=2", "seconds=1.5"])
    assert (limits.calls, limits.sub_tasks, limits.seconds) == (3, 2, 1.5)


def test_control_characters_are_taken_out():
    assert printable("a\x1b]0;x\x07b\r\n\tc\u202e") == "a]0;xb\n\tc"


def test_the_command_imports_no_torch():
    code = "import sys, toolkit.restgpt.cli, toolkit.restgpt.run; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
