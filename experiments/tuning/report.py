"""The tables that only tuning has: adapters side by side per number of shots, what each cost, and what it kept.

Computed from header and samples alone. Knows nothing of adapters on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from experiments.report.extra import Table, Value
from experiments.report.layout import layout_of
from experiments.report.tables import HELD_OUT, NOT_RUN, percent
from experiments.report.tally import Cell, CellKey, Tally, tally
from experiments.tuning.retention import NAME
from toolkit import stats

Json = Mapping[str, Any]
NOTE = "Percent [95 % Wilson interval] k/n by the strict scorer; † shown neither in training nor in the prompt."
COSTS = ("adapter", "method", "trained on", "trainable parameters", "tokens seen", "seconds", "steps")
KEPT = ("adapter", "perplexity of ordinary text", "against untuned", "false calls at the fewest shots", "n")


def tables(header: Json, samples: Iterable[Json]) -> Iterator[Table]:
    """Per model and number of shots a matrix with adapters across; then costs and retention."""
    counted = tally(samples)
    report, layout = header["report"], layout_of(header)
    keys = layout.order(counted.cells)
    for model in dict.fromkeys(key.model for key in keys):
        own = [key for key in keys if key.model == model]
        for shots in sorted({key.shots for key in own}):
            here = [key for key in own if key.shots == shots]
            yield Table(f"adapters-{_file(model)}-N{shots}", f"{model}, N = {shots}", NOTE, *_matrix(here, counted))
        yield _retention(model, header, own, counted)
    yield Table(
        "costs",
        "What each adapter cost",
        "As its training recorded it; seconds on that machine.",
        COSTS,
        _costs(report),
    )


def _matrix(keys: Sequence[CellKey], counted: Tally) -> tuple[list[str], list[list[Value]]]:
    """Columns and rows of one number of shots."""
    variants = list(dict.fromkeys(key.variant for key in keys))
    cells = {(key.skill, key.variant): counted.cells[key] for key in keys}
    skills = list(dict.fromkeys(key.skill for key in keys))
    rows: list[list[Value]] = [[skill, *(_cell(cells.get((skill, name))) for name in variants)] for skill in skills]
    return ["", *variants], rows


def _cell(cell: Cell | None) -> str:
    if cell is None or not cell.counts[1]:
        return NOT_RUN
    k, n = cell.counts
    bounds = stats.wilson(k, n)
    mark = HELD_OUT if cell.held_out else ""
    return f"{percent(k / n)}{mark} [{percent(bounds.low)}, {percent(bounds.high)}] {k}/{n}"


def _retention(model: str, header: Json, keys: Sequence[CellKey], counted: Tally) -> Table:
    """Perplexity and false calls of one model's columns."""
    models = header.get("models", {})
    variants = list(dict.fromkeys(key.variant for key in keys))
    found = {name: models.get(f"{model} + {name}", {}).get("perplexity") for name in variants}
    bare = next((found[name] for name in variants if header["report"]["costs"].get(name) is None), None)
    rows: list[list[Value]] = []
    for name in variants:
        asked = [counted.cells[key] for key in keys if (key.variant, key.skill) == (name, NAME)]
        k, n = asked[0].counts if asked else (0, 0)
        ratio = found[name] / bare if found[name] is not None and bare else None
        rows.append([name, found[name], ratio, f"{n - k}/{n}" if n else None, n or None])
    note = "Perplexity per token of a text of ours; false calls on questions that need no tool."
    return Table(f"retention-{_file(model)}", f"{model}: what is kept", note, KEPT, rows)


def _costs(report: Json) -> list[list[Value]]:
    rows: list[list[Value]] = []
    for name in report["variants"]:
        cost = report["costs"].get(name)
        if cost is None:
            rows.append([name, *[None] * (len(COSTS) - 1)])
            continue
        facts = [cost[key] for key in ("trainable", "tokens", "seconds", "steps")]
        rows.append([name, cost["method"], " ".join(cost["trained"]) or None, *facts])
    return rows


def _file(name: str) -> str:
    """A model's name as part of a file name."""
    return "".join(c if c.isalnum() or c in ".-" else "-" for c in name)
