"""The page: self-contained, strings inert, who wrote what; and in a real browser: nothing runs, the filter works."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import synthetic
from synthetic import write_run  # type: ignore[import-not-found]

from experiments import cli
from experiments.report import build, page
from experiments.report.browser import MOST, PER_BUCKET, Selection, entry, segments

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--window-size=1000,800"),
)


def base(**changes: Any) -> dict[str, Any]:
    return {**synthetic.sample("m", "strict-arrow", 5, "+", 0, 1.0), **changes}


def call(text: str, written: str, **changes: Any) -> dict[str, Any]:
    start = len(text.encode()[: text.encode().index(written.encode())])
    end = start + len(written.encode())
    return {"name": "MATH", "arguments": "1 + 2", "status": "ok", "result": "3", "start": start, "end": end, **changes}


@pytest.mark.parametrize("marks", [(" -> ", "]"), ("=", "]")])
def test_segments_say_who_wrote_what(marks: tuple[str, str]) -> None:
    text = f" é is [MATH(1 + 2){marks[0]}3{marks[1]} 3."
    found = segments(base(text=text, calls=[call(text, "[MATH(1 + 2)")], source="M9T3M2"))
    assert found == [
        ("model", " é is "),
        ("call", "[MATH(1 + 2)"),
        ("tool", f"{marks[0]}3{marks[1]}"),
        ("model", " 3."),
    ]
    assert "".join(piece for _, piece in found) == text


def test_segments_without_injection_or_with_a_cut_result() -> None:
    text = " [MATH(1 + 2) -> 9] 9."
    kept = segments(base(text=text, calls=[call(text, "[MATH(1 + 2)", status="error")], source="M9"))
    assert kept == [("model", " "), ("call", "[MATH(1 + 2)"), ("model", " -> 9] 9.")]
    cut = segments(base(text=text, calls=[call(text, "[MATH(1 + 2)", result="999999")], source="M4T2M2"))
    assert ("tool", " -> 9]") in cut
    silent = " [MATH(1 + 2)] ok"
    found = segments(base(text=silent, calls=[call(silent, "[MATH(1 + 2)", result="")], source="M4T1M2"))
    assert ("tool", "]") in found


def test_selection_is_bounded_spread_and_independent_of_order() -> None:
    made = [
        base(id=f"{skill}{t}", skill=skill, trial=t, outcome=o) for t in range(30) for skill in "+*" for o in ("a", "b")
    ]
    made = [{**sample, "id": f"{sample['id']}{sample['outcome']}"} for sample in made]
    first, second = Selection(), Selection()
    for sample, other in zip(made, reversed(made), strict=True):
        first.add(sample)
        second.add(other)
    assert first.entries() == second.entries()
    assert len(first.entries()) == 4 * PER_BUCKET < MOST
    many = Selection()
    for number in range(MOST + 100):
        many.add(base(id=str(number), skill=str(number)))
    assert len(many.entries()) == MOST


def test_long_texts_are_cut() -> None:
    assert len(json.dumps(entry(base(text="x" * 100_000, question="y" * 100_000, calls=[])))) < 4000


def test_embedded_json_cannot_end_its_element() -> None:
    text = str(page.embedded_json({"x": "</script><!--<script>&"}))
    assert not set(text) & set("<>&") and json.loads(text) == {"x": "</script><!--<script>&"}


def test_the_page_is_self_contained_and_hostile_text_is_text(reported: Path) -> None:
    text = (reported / build.PAGE).read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\((?!#)""", text)
    assert text.count("<script") == 2 and text.count("</script>") == 2
    assert "<b>synthetic</b>" not in text and html.escape("<script>alert(1)</script>") in text
    assert "default-src 'none'" in text and "18.4 %" in text
    embedded = re.search(r'<script type="application/json" id="entries">(.*?)</script>', text, re.S)
    assert embedded and any("onerror" in piece[1] for e in json.loads(embedded[1]) for piece in e["reply"])


def test_pages_of_other_axes_have_no_accident(tmp_path: Path) -> None:
    made = [{**sample, "skill": f"task {sample['skill']}"} for sample in synthetic.samples(2, shots=(0,))]
    run = write_run(tmp_path / "run", made)
    text = build.page_text(build.read(run), {})
    assert "without a single demonstration" not in text and "No figure was drawn" in text


def browse(run: Path, address: str, profile: Path) -> str:
    """The page's elements after its script ran, with one entry of the browser per line."""
    url = f"{(run / build.PAGE).resolve().as_uri()}{address}"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no chromium binary was found")
def test_in_a_browser_nothing_hostile_runs_and_the_filter_works(reported: Path, tmp_path: Path) -> None:
    embedded = re.search(r'id="entries">(.*?)</script>', (reported / build.PAGE).read_text(), re.S)
    assert embedded
    entries = json.loads(embedded[1])
    wanted = [e for e in entries if e["skill"] == "&" and e["outcome"] == "wrong_operator"]
    dom = browse(reported, "#browse?skill=%26&outcome=wrong_operator", tmp_path / "a")
    assert f"{len(wanted)} match, {min(20, len(wanted))} shown" in dom
    listed = dom[dom.index('<ol id="list">') : dom.index("</ol>")]
    assert listed.count("<li>") == min(20, len(wanted)) == listed.count("failed: wrong operator")
    assert '<span class="call">[MATH(' in listed and '<span class="tool"> -&gt; ' in listed
    dom = browse(reported, "#browse?text=onerror", tmp_path / "b")
    assert "<title>Held-out operators &lt;b&gt;synthetic&lt;/b&gt;</title>" in dom
    assert "<img" not in dom and "&lt;img src=x onerror=alert(1)&gt;" in dom


def test_the_verbs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.outcome(["compare", str(run), "published:gpt-neo-125m/arrow", "--json"]) == 0
    assert "published values lie within" in json.loads(capsys.readouterr().out)["comparisons"][0]["verdict"]
    (run / "report" / "matrix.csv").write_text("x")
    assert cli.outcome(["verify", str(run)]) == 1
    assert "matrix.csv line 1: found 'x'" in capsys.readouterr().err
    assert cli.outcome(["compare", str(run), "published:nothing"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "choose one of gpt-neo-1.3b/arrow" in error


@pytest.mark.slow
def test_report_and_verify_from_the_command_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.outcome(["report", str(run)]) == 0
    out = capsys.readouterr().out
    assert "†" in out and "report.html" in out
    assert cli.outcome(["verify", str(run), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["checks"]) == 7
