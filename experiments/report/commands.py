"""What the command line calls: write the views of a run, check them, compare runs, print matrices.

Nothing here runs or loads a model; figures are the only part that needs an extra (matplotlib).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments import records
from experiments.report import build, extra, page, parquet
from experiments.report.compare import compare
from experiments.report.compare_table import comparison_table, value_table
from experiments.report.tables import terminal
from experiments.report.verify import verify
from experiments.storage import make_folder, write_atomic

__all__ = ["compare", "has_figures", "print_comparison", "print_matrix", "print_report", "report", "verify"]


def report(run: Path) -> Path:
    """Write summary.json, samples.parquet and report/ of a run; returns the path of report.html.

    Without matplotlib (extra `plots`) the page has no figures and says so.
    """
    reading = build.read(run)
    make_folder(run / build.REPORT)
    text = build.summary_text(reading.summary)
    parquet.write(run / build.PARQUET, records.read_samples(run), reading.tally.scorers)
    for name, table in build.TABLES.items():
        write_atomic(run / name, table(reading.summary))
    for name, further in extra.texts(reading.extra).items():
        write_atomic(run / name, further)
    figures = _draw(run, reading)
    content = build.page_text(reading, build.svg_sources(run, figures["names"]))
    write_atomic(run / build.PAGE, content)
    made = {
        "summary": build.digest(text.encode()),
        "figures": figures,
        "page": {"sha256": build.digest(content.encode()), "code": build.code_digest(page.sources())},
    }
    write_atomic(run / build.MADE, build.made_text(made))
    write_atomic(run / build.SUMMARY, text)
    return run / build.PAGE


def _draw(run: Path, reading: build.Reading) -> dict[str, Any]:
    """Draw all figures anew; what drew them, their names, and the hash of each file."""
    folder = run / build.PLOTS
    for old in folder.glob("*"):
        old.unlink()
    if not find_spec("matplotlib"):
        return {"drawn_by": None, "names": [], "sha256": {}}
    from experiments.report import plots

    names = plots.draw_all(reading.summary, folder)
    hashes = {path.name: build.digest(path.read_bytes()) for path in sorted(folder.iterdir())}
    return {"drawn_by": plots.environment(), "names": names, "sha256": hashes}


def has_figures(run: Path) -> bool:
    """Whether the last report of a run drew figures."""
    return bool(json.loads((run / build.MADE).read_text(encoding="utf-8"))["figures"]["names"])


def print_matrix(run: Path) -> None:
    """Print the matrices of a run to the terminal, from its samples."""
    from rich.console import Console

    Console().print(terminal(build.read(run).summary))


def print_report(run: Path) -> None:
    """Print the matrices of the summary that `report` wrote, without reading the samples again."""
    from rich.console import Console

    Console().print(terminal(json.loads((run / build.SUMMARY).read_text(encoding="utf-8"))))


def print_comparison(result: Mapping[str, Any]) -> None:
    """Print what `compare` returned to the terminal."""
    from rich.console import Console

    Console().print(comparison_table(result) if "comparisons" in result else value_table(result))
