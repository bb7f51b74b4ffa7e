"""Tables hold the right numbers and show hostile names as text in every format."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import synthetic
from rich.console import Console

from experiments.report import tables
from experiments.report.layout import Layout
from experiments.report.summary import build
from experiments.report.tally import tally

NASTY = r"a_b|c&d%e$f#g{h}~^\x<script>*[1](x)"


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    made = [
        {**sample, "model": NASTY if sample["model"] == "toy-60M" else sample["model"]}
        for sample in synthetic.samples(10)
    ]
    return build(Layout("Title", "operator", "shots"), tally(made))


def test_csv_has_one_line_per_cell_with_its_counts(summary: dict[str, Any]) -> None:
    lines = list(csv.DictReader(io.StringIO(tables.comma_separated(summary))))
    cells = [cell for matrix in summary["matrices"] for cell in matrix["cells"]]
    assert len(lines) == len(cells) == 72
    for line, cell in zip(lines, cells, strict=True):
        assert (line["skill"], int(line["k"]), int(line["n"])) == (cell["skill"], cell["k"], cell["n"])
        assert float(line["percent"]) == pytest.approx(100 * cell["rate"], abs=1e-3)
    assert lines[-1]["model"] == NASTY


def test_markdown_has_every_cell_and_cannot_be_broken_by_names(summary: dict[str, Any]) -> None:
    text = tables.markdown(summary)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 * 8
    unescaped = [line.replace("\\|", "").count("|") for line in rows]
    assert set(unescaped) == {8}
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert text.count("†") == 1 + 2 * 21


def test_terminal_shows_counts_intervals_and_daggers(summary: dict[str, Any]) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(tables.terminal(summary))
    text = console.export_text()
    assert text.count("†") == 1 + 2 * 21
    cell = summary["matrices"][0]["cells"][1]
    assert f"{cell['k']}/{cell['n']}" in text and NASTY in text


def test_missing_cells_are_shown_as_missing() -> None:
    made = [synthetic.sample("m", "strict-arrow", shots, skill, 0, 1.0) for shots, skill in ((0, "+"), (1, "*"))]
    text = tables.markdown(build(Layout("x"), tally(made)))
    assert text.count("| -- |") + text.count("| -- ") >= 2


@pytest.mark.slow
def test_latex_compiles(summary: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n%s\n\\end{document}\n"
    (tmp_path / "m.tex").write_text(document % tables.latex(summary))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "m.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "m.pdf").stat().st_size > 10_000


def test_latex_escapes_and_counts(summary: dict[str, Any]) -> None:
    text = tables.latex(summary)
    assert text.count(r"\toprule") == 2 and text.count("$^\\dagger$") == 2 * 21
    assert r"a\_b\textbar{}c\&d\%e\$f\#g\{h\}" in text
