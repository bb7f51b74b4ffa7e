"""Our episodes against published RestBench figures, row by row: success, correct path and delta length.

`published:restgpt-table4` are the rows of RestGPT's Table 4 (each against our run of the same strategy),
`published:restbench-followups` later work (a method that is none of ours stands against `restgpt`). Worlds, judges and
mostly models differ, so a difference is no failed reproduction; the caveats say so beside every table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments import published, records
from experiments.report.extra import Value
from experiments.restbench.report import Group, groups
from toolkit import stats
from toolkit.errors import UserError

TABLES = {"restgpt-table4": "restbench_table4.csv", "restbench-followups": "restbench_followups.csv"}
COLUMNS = ("model", "strategy", "scenario", "published", "measure", "ours [95 %]", "theirs", "inside", "p")
SCENARIOS = {"tmdb": "TMDB", "spotify": "Spotify"}
CAVEATS = (
    "Worlds differ: ours are simulated with invented facts, theirs were live services on dates that differ.",
    "Success differs: ours is judged by state and grounded answer over all tasks of a scenario that were run, theirs "
    "by people; the published Spotify columns mix denominators of 55 and 57.",
    "The published figures are secondary: read in notes that quote the papers.",
    "p: Fisher's exact test of success, only where one count fits the printed percentage. inside: theirs lies within "
    "our 95 % Wilson interval.",
)
Row = Mapping[str, str]


def rows(reference: str) -> list[Row]:
    """The published rows that `published:NAME` or `published:NAME/SYSTEM` refers to. Raises UserError for neither."""
    name, _, system = reference.removeprefix(published.PREFIX).partition("/")
    if name not in TABLES:
        raise UserError(f"there is no published RestBench table {name!r}", fix=f"choose one of {', '.join(TABLES)}")
    with (published.FOLDER / TABLES[name]).open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    chosen: list[Row] = [row for row in found if system in ("", _slug(row["system"]))]
    if not chosen:
        systems = sorted({_slug(row["system"]) for row in found})
        raise UserError(f"{name} has no system {system!r}", fix=f"choose one of {', '.join(systems)}")
    return chosen


def compare(
    run: Path, other: str, model: str | None = None, variant: str | None = None, trials: int | None = None
) -> dict[str, Any]:
    """A run against published rows, ready for JSON: `columns`, `rows`, how many columns lead, and the caveats."""
    header, theirs = records.read_header(run), rows(other)
    samples = (sample for sample in records.read_samples(run) if trials is None or sample["trial"] < trials)
    ours = {
        key: group
        for key, group in groups(header, samples).items()
        if model in (None, key[0]) and variant in (None, key[1]) and key[3] is None
    }
    table = [
        [*key[:3], f"{row['system']} ({row['model']})", *measured]
        for key, group in ours.items()
        for row in theirs
        if row["scenario"] == SCENARIOS[key[2]] and (row["strategy"] or "restgpt") == key[1]
        for measured in _measures(group, row)
    ]
    if not table:
        raise UserError(
            f"no strategy and scenario of the run stand in {other}", str(run), "run restgpt or another of its rows"
        )
    about = {"run": str(run), "other": other, "trials": trials}
    return {**about, "columns": COLUMNS, "leading": 3, "rows": table, "caveats": CAVEATS}


def _measures(group: Group, row: Row) -> Iterator[list[Value]]:
    """One line per measure that the published row states."""
    n = group.episodes
    for measure, column, score in (("success", "success_percent", "success"), ("CP", "cp_percent", "correct_path")):
        printed = _number(row[column])
        if printed is None:
            continue
        k, interval = group.scores[score], stats.wilson(group.scores[score], n)
        shown = f"{100 * k / n:.1f} [{100 * interval.low:.0f}, {100 * interval.high:.0f}] {k}/{n}"
        counted = measure == "success" and row["success_k"] != ""
        p = stats.fisher(k, n, int(row["success_k"]), int(row["success_n"])) if counted else None
        yield [
            measure,
            shown,
            printed,
            "yes" if printed / 100 in interval else "no",
            None if p is None else round(p, 6),
        ]
    delta, own = _number(row["delta_len"]), group.deltas
    if delta is not None and own:
        yield ["delta", f"{sum(own) / len(own):.2f} over {len(own)}", delta, None, None]


def _slug(system: str) -> str:
    """A system's name as references spell it: `restgpt-w-o-parser`."""
    return re.sub(r"[^a-z0-9@.]+", "-", system.lower()).strip("-")


def _number(text: str) -> float | None:
    """A printed figure; None for an empty field and for a range."""
    try:
        return float(text)
    except ValueError:
        return None
