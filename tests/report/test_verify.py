"""verify accepts an untouched run and names the first difference after any artefact was touched."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
import synthetic
from synthetic import HEADER, write_run  # type: ignore[import-not-found]

from experiments import base
from experiments.report import build
from experiments.report import verify as verify_module
from experiments.report.commands import report, verify
from toolkit.errors import RunError, UserError


@pytest.fixture(autouse=True)
def no_redraw(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Drawing all figures again takes seconds; only the tests that are about it do so."""
    if "slow" not in request.keywords:
        monkeypatch.setattr(verify_module, "find_spec", lambda _: None)


def change_digit(path: Path, pattern: str) -> None:
    """Change the digit that is group 1 of the first match of `pattern`."""
    text = path.read_text(encoding="utf-8")
    match = re.search(pattern, text)
    assert match, f"{path} has no {pattern}"
    place = match.start(1)
    path.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :], encoding="utf-8")


def test_an_untouched_run_passes(run: Path) -> None:
    lines = verify(run)
    assert len(lines) == 7
    assert "432 samples counted again" in lines[2]


@pytest.mark.parametrize(
    "name,pattern,message",
    [
        ("summary.json", r'"k": (\d)', r"summary\.json: matrices \[gpt-neo-125m/paper-arrow\] cells \[\+/N\d\] k is"),
        ("summary.json", r'"samples": \d\d(\d)', r"summary\.json: samples is 43\d, the samples give 432"),
        ("report/matrix.md", r"(\d)/12 \|", r"matrix\.md line \d+: found"),
        ("report/matrix.csv", r"arrow,paper,\^,3,false,(\d)", r"matrix\.csv line \d+: found .*\^,3,false"),
        ("report/matrix.tex", r"(\d)/12", r"matrix\.tex line \d+"),
        ("report/report.html", r"<small>(\d)", r"report\.html line \d+"),
        ("report/made.json", r'"summary": "[a-f]*(\d)', r"made\.json is damaged .*its own hash"),
        ("report/plots/gaps.svg", r"d=\"M (\d)", r"plots/gaps\.svg is not the file that was drawn"),
        ("prefixes.jsonl", r"<Guest> \((\d)", r"prefixes\.jsonl:1: the content does not match its digest"),
        ("samples/all.jsonl", r'"outcome":"right_by_call".*?"shots":(\d)', r"verify failed: "),
        ("samples/all.jsonl", r'"text":" (\d)', r"samples\.parquet: column text differs"),
    ],
)
def test_one_changed_digit_is_found(run: Path, name: str, pattern: str, message: str) -> None:
    change_digit(run / name, pattern)
    with pytest.raises(RunError, match=message):
        verify(run)


def test_a_changed_parquet_or_png_is_found(run: Path) -> None:
    for name, message in (("samples.parquet", "samples.parquet"), ("report/plots/gaps.png", "gaps.png")):
        path = run / name
        kept = path.read_bytes()
        data = bytearray(kept)
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(RunError, match=message):
            verify(run)
        path.write_bytes(kept)
    verify(run)


def test_missing_views_and_prefixes_are_found(run: Path) -> None:
    (run / "report" / "matrix.csv").unlink()
    with pytest.raises(RunError, match=r"matrix\.csv cannot be read .* run `toolkit report` again"):
        verify(run)
    (run / "prefixes.jsonl").write_text("")
    with pytest.raises(RunError, match="is used by samples but not stored"):
        verify(run)


def test_a_sample_more_or_less_is_found(run: Path) -> None:
    path = run / "samples" / "all.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1:]))
    with pytest.raises(RunError, match=r"summary\.json"):
        verify(run)
    path.write_text("".join([*lines, lines[0]]))
    with pytest.raises(RunError, match="is there twice"):
        verify(run)


def test_a_folder_that_is_no_run_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        verify(tmp_path)


def test_verdicts_are_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.report.commands.find_spec", lambda _: None)
    typed = {"experiment": "operators", "models": [{"name": "toy-60M", "path": "nowhere"}], "trials": 3}
    experiment = base.make(typed, tmp_path / "x.yaml")
    made = experiment.score(synthetic.samples(3, models=("toy-60M",), shots=(1,)), None)
    header = {**HEADER, **experiment.header(), "config": {"typed": typed, "path": "x.yaml", "resolved": {}}}
    run = write_run(tmp_path / "run", made, header)
    report(run)
    assert verify(run)[1] == "verdicts: 18 samples judged again"
    path = run / "samples" / "all.jsonl"
    path.write_text(path.read_text().replace('"strict":true', '"strict":false', 1))
    with pytest.raises(RunError, match=r"toy-60M/paper-arrow/N1/.*: scores strict is false, judged again it is true"):
        verify(run)


def test_a_page_of_another_version_is_checked_by_its_hash(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.report.page.sources", lambda: [])
    assert "another version" in verify(run)[-1]
    change_digit(run / "report" / "report.html", r"<small>(\d)")
    with pytest.raises(RunError, match=r"report\.html is not the file that was written"):
        verify(run)


@pytest.mark.slow
def test_report_is_deterministic_and_figures_are_drawn_again(run: Path) -> None:
    before = {path: path.read_bytes() for path in sorted((run / "report").rglob("*")) if path.is_file()}
    report(run)
    assert {path: path.read_bytes() for path in before} == before
    assert "drawn again, equal" in verify(run)[5]
    figure = run / "report" / "plots" / "gaps.svg"
    record = run / "report" / "made.json"
    change_digit(figure, r"d=\"M (\d)")  # with its hash adjusted, only drawing again can tell
    drawn = json.loads(record.read_text())
    drawn["figures"]["sha256"]["gaps.svg"] = hashlib.sha256(figure.read_bytes()).hexdigest()
    record.write_text(build.made_text(drawn))
    with pytest.raises(RunError, match=r"gaps\.svg differs from the figure drawn again"):
        verify(run)
