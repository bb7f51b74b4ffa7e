"""What the command line calls: write the views of a run, check them, compare runs, print matrices.

Nothing here runs or loads a model; figures are the only part that needs an extra (matplotlib).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments import records
from experiments.report import build, parquet
from experiments.report.compare import compare
from experiments.report.compare_table import comparison_table
from experiments.report.tables import terminal
from experiments.report.verify import verify
from experiments.storage import make_folder, write_atomic

__all__ = ["compare", "has_figures", "print_comparison", "print_matrix", "report", "verify"]


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
    names = _draw(run, reading, text)
    write_atomic(run / build.PAGE, build.page_text(reading, build.svg_sources(run, names)))
    write_atomic(run / build.SUMMARY, text)
    return run / build.PAGE


def _draw(run: Path, reading: build.Reading, summary: str) -> list[str]:
    """Draw all figures anew and write `figures.json`: what drew them, from which summary, and their hashes."""
    folder = run / build.PLOTS
    for old in folder.glob("*"):
        old.unlink()
    drawn: dict[str, Any] = {"drawn_by": None, "names": [], "sha256": {}}
    if find_spec("matplotlib"):
        from experiments.report import plots

        names = plots.draw_all(reading.summary, folder)
        hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
        drawn = {"drawn_by": plots.environment(), "names": names, "sha256": hashes}
    drawn["summary_sha256"] = hashlib.sha256(summary.encode("utf-8", "surrogatepass")).hexdigest()
    write_atomic(run / build.FIGURES, json.dumps(drawn, indent=1, sort_keys=True) + "\n")
    return list(drawn["names"])


def has_figures(run: Path) -> bool:
    """Whether the last report of a run drew figures."""
    return bool(json.loads((run / build.FIGURES).read_text(encoding="utf-8"))["names"])


def print_matrix(run: Path) -> None:
    """Print the matrices of a run to the terminal, from its samples."""
    from rich.console import Console

    Console().print(terminal(build.read(run).summary))


def print_comparison(result: Mapping[str, Any]) -> None:
    """Print what `compare` returned to the terminal."""
    from rich.console import Console

    Console().print(comparison_table(result))
