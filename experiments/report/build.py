"""Reads a run once and makes its views: summary, tables, page. Writing them and checking them start from here.

A view is text under a path relative to the run folder; figures and Parquet, which are not text, are made by plots.py
and parquet.py from the same reading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import records
from experiments.report import page, tables
from experiments.report.browser import Selection
from experiments.report.extra import Table, extra_tables
from experiments.report.layout import Layout, layout_of
from experiments.report.summary import build
from experiments.report.tally import Tally
from experiments.report.throughput import throughput
from toolkit.errors import UserError

SUMMARY, PARQUET, REPORT = "summary.json", "samples.parquet", "report"
PLOTS, MADE, PAGE = "report/plots", "report/made.json", "report/report.html"
TABLES = {
    "report/matrix.md": tables.markdown,
    "report/matrix.csv": tables.comma_separated,
    "report/matrix.tex": tables.latex,
}


@dataclass(frozen=True)
class Reading:
    """What one pass over a run yields; everything a report shows follows from it."""

    folder: Path
    header: Mapping[str, Any]
    layout: Layout
    tally: Tally
    selection: Selection
    summary: Mapping[str, Any]
    extra: Sequence[Table]


def read(folder: Path) -> Reading:
    """Read header, samples and timings of a run. UserError when it holds no sample yet."""
    header = records.read_header(folder)
    layout, tally, selection = layout_of(header), Tally(), Selection()
    for sample in records.read_samples(folder):
        tally.add(sample)
        selection.add(sample)
    if not tally.samples:
        raise UserError("the run holds no sample yet", str(folder), "let `toolkit run` write some first")
    speeds = throughput(records.read_timings(folder), tally)
    extra = extra_tables(header, lambda: records.read_samples(folder))
    return Reading(folder, header, layout, tally, selection, build(layout, tally, speeds), extra)


def digest(data: bytes) -> str:
    """SHA-256 (hex)."""
    return hashlib.sha256(data).hexdigest()


def code_digest(files: Iterable[Path]) -> str:
    """A short digest of the code that makes a view: an older view is then not taken for a wrong one."""
    return digest(b"".join(path.read_bytes() for path in files))[:12]


def made_text(made: Mapping[str, Any]) -> str:
    """`made.json`, what made the views and their hashes, with a hash over itself."""
    body = {name: value for name, value in made.items() if name != "sha256"}
    own = digest(json.dumps(body, sort_keys=True).encode())
    return json.dumps({**body, "sha256": own}, indent=1, sort_keys=True) + "\n"


def summary_text(summary: Mapping[str, Any]) -> str:
    """`summary.json` as text."""
    return json.dumps(summary, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def page_text(reading: Reading, figures: Mapping[str, str]) -> str:
    """`report.html` with these figures (name to SVG source)."""
    entries = reading.selection.entries()
    return page.render(reading.summary, reading.header, reading.layout, entries, figures, reading.extra)


def svg_sources(folder: Path, names: list[str]) -> dict[str, str]:
    """The SVG figures of a run folder by name."""
    return {name: (folder / PLOTS / f"{name}.svg").read_text(encoding="utf-8") for name in names}
