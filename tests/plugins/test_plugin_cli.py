"""`toolkit plugin`: exit codes, one line per mistake, and JSON for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import tiny_tokenizer

from experiments.cli import outcome
from toolkit.plugins.manifest import builtin
from toolkit.plugins.writing import manifest_json

GOOD = manifest_json(builtin())
LOOSE = '{plugin_api_version: 0, name: "L", description: "d", apis: ["A": {url: "https://a.b", arguments: true,},],}'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with a good manifest."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.json").write_text(GOOD, encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = outcome(["plugin", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("0,", '"zero",', 1), "good.json:2:25 plugin_api_version: version 'zero' is not known; write 0"),
        (GOOD.replace("true", '"yes"', 1), "apis.SEARCH.arguments: should be a valid boolean"),
        (GOOD.replace('"history"', '"pattern": "(", "history"', 1), "apis.SEARCH.pattern: not a regular expression"),
        (GOOD.replace("[MATH(123 + 456) -> 579]", "[MATH(123 + 456 -> 579]"), "starts with '[MATH(123 + 456 -> 579]"),
        (GOOD.replace('"DATE":', '"SEARCH":'), "'SEARCH' occurs twice"),
        ("", "the text ends where a value is expected"),
        ("[" * 10_000, "nested deeper than 32 levels"),
    ],
)
@pytest.mark.parametrize("command", [["compile", "good.json"], ["call", "good.json", "MATH", "1"]])
def test_a_bad_manifest_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], text: str, message: str, command: list[str]
) -> None:
    Path("good.json").write_text(text, encoding="utf-8")
    code, out, err = run(capsys, *command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lint", "absent.json"], "absent.json: no such file"),
        (["fix", "absent.json"], "absent.json: no such file"),
        (["compile", "absent"], "neither a manifest file nor a plugin here"),
        (["compile", "good.json", "science"], "the API SEARCH is offered by two plugins, 'Science' and 'Science'"),
        (["compile", "science", "--syntax", "xml"], "--syntax: no call syntax is named 'xml'; choose from: arrow, equ"),
        (["compile", "science", "--tokens", "9"], "a length in tokens needs a tokenizer; add --model"),
        (["compile", "science", "--tokens", "9", "--model", "./absent"], "./absent: no tokenizer can be had"),
        (["compile", "science", "--first", "-1"], "Invalid value for '--first'"),
        (["call", "science", "NONE"], "science: the plugin has no API NONE; its APIs: SEARCH, DATE, MATH"),
        (["call", "science", "MATH", "1", "--history", "robot:x"], "--history: 'robot:x' is no turn"),
        (["call", "good.json", "MATH", "1", "--secret-env", "NO_SUCH_SECRET"], "no usable secret in the environment"),
        (["new", "good.json"], "good.json: the file exists"),
        (["new", "no/such/folder.json"], "cannot be written: No such file or directory"),
        (["serve", "nothing"], "does not name a plugin"),
        (["serve", "toolkit.plugins.science:plugin", "--host", "0.0.0.0"], "add --base-url"),
        (["import", "absent.yaml"], "absent.yaml"),
        (["import", "good.json"], "good.json"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_lint_shows_all_faults_and_exits_2_on_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "lint", "good.json") == (0, "good.json: 0 errors, 0 warnings\n", "")
    Path("manifest.json").write_text(LOOSE, encoding="utf-8")
    code, out, _ = run(capsys, "lint", ".")
    assert code == 0
    assert out.endswith("manifest.json: 0 errors, 11 warnings\n")
    Path("manifest.json").write_text(LOOSE.replace("https", "x").replace("true", "1"), encoding="utf-8")
    code, out, _ = run(capsys, "lint", "manifest.json", "--json")
    report = json.loads(out)
    assert (code, report["ok"], report["file"]) == (2, False, "manifest.json")
    wrong = [fault["path"] for fault in report["faults"] if fault["level"] == "error"]
    assert wrong == ["apis.A.url", "apis.A.arguments"]


def test_lint_budget_counts_with_a_models_tokenizer(capsys: pytest.CaptureFixture[str]) -> None:
    tiny_tokenizer().save_pretrained("model")
    _, out, _ = run(capsys, "lint", "good.json", "--budget", "100", "--model", "./model")
    assert "apis.SEARCH.examples[1]: warning: the example takes 141 tokens, over 100; shorten it" in out


def test_fix_writes_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("loose.json").write_text(LOOSE, encoding="utf-8")
    code, out, _ = run(capsys, "fix", "loose.json")
    assert (code, json.loads(out)["apis"]["A"]["url"]) == (0, "https://a.b")
    assert Path("loose.json").read_text(encoding="utf-8") == LOOSE
    assert run(capsys, "fix", "loose.json", "--write") == (0, "loose.json: 10 things put right\n", "")
    assert Path("loose.json").read_text(encoding="utf-8") == out


def test_compile_reports_tokens_and_segments(capsys: pytest.CaptureFixture[str]) -> None:
    tiny_tokenizer().save_pretrained("model")
    options = ["compile", "science", "--model", "./model", "--tokens", "200", "--json"]
    code, out, _ = run(capsys, *options)
    report = json.loads(out)
    assert code == 0
    assert [row["api"] for row in report["examples"]] == ["SEARCH", "SEARCH"]
    assert report["tokens"] == sum(row["tokens"] for row in report["examples"]) <= 200
    assert "".join(text for row in report["examples"] for _, text in row["segments"]) == report["text"]
    _, out, err = run(capsys, "compile", "science", "--seed", "1", "--first", "4", "--model", "./model")
    assert out.count("<Guest>") == 4
    assert err.count("tokens") == 5


def test_call_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "call", "science", "MATH", "2 ^ 10") == (0, "8\n", "")
    assert run(capsys, "call", "science", "MATH", "2 ^") == (
        1,
        "",
        "toolkit: MATH(2 ^): error: not an arithmetic expression\n",
    )
    code, out, _ = run(capsys, "call", "science", "DATE", "x", "--json")
    assert (code, json.loads(out)["status"]) == (1, "refused")


def test_the_command_needs_no_heavy_import() -> None:
    code = "import sys, toolkit.plugins.cli; print({'torch', 'transformers', 'fastapi', 'regex'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
