"""A run against another run or a published table: per cell the difference, its interval, a test, and one verdict line.

Cells that both asked the same questions are compared pairwise (exact McNemar), others as independent counts (Fisher).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import published, records
from experiments.report import extra
from experiments.report.contrast import Contrast, contrast, independent
from experiments.report.layout import layout_of
from experiments.report.summary import contrast_json, rounded
from experiments.report.tally import Cell, tally
from toolkit import stats
from toolkit.errors import UserError

Json = dict[str, Any]
Matrix = dict[tuple[str, int], Cell]
Counts = tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """One of our matrices against one of theirs: (skill, shots, held out, our k/n, their k/n, contrast) per cell."""

    model: str
    variant: str
    other: str
    stand_in: bool
    cells: Sequence[tuple[str, int, bool | None, Counts, Counts, Contrast | None]]


def compare(
    run: Path, other: str, model: str | None = None, variant: str | None = None, trials: int | None = None
) -> Json:
    """Compare a run with a run folder or `published:NAME`, matrix by matrix; the result is ready for JSON.

    `model` and `variant` choose one of the run's matrices; without them all that fit are compared. `trials` uses the
    first so many trials of our cells only, for intervals like those of a published n.
    """
    special = extra.comparison(records.read_header(run)) if other.startswith(published.PREFIX) else None
    if special is not None:
        return special(run, other, model, variant, trials)
    ours = _matrices(run, model, variant, trials)
    if other.startswith(published.PREFIX):
        pairs = _against_published(run, ours, published.load(other), model)
    else:
        pairs = _against_run(ours, _matrices(Path(other), model, variant), other)
    return {"run": str(run), "other": other, "trials": trials, "comparisons": [_result(pair) for pair in pairs]}


def _matrices(
    run: Path, model: str | None, variant: str | None, trials: int | None = None
) -> dict[tuple[str, str], Matrix]:
    """The cells of a run by (model, variant), in the order of its report."""
    layout = layout_of(records.read_header(run))
    cells = tally(s for s in records.read_samples(run) if trials is None or s["trial"] < trials).cells
    found: dict[tuple[str, str], Matrix] = {}
    for key in layout.order(cells):
        if model in (None, key.model) and variant in (None, key.variant):
            found.setdefault((key.model, key.variant), {})[key.skill, key.shots] = cells[key]
    if not found:
        there = ", ".join(sorted({f"{key.model} {key.variant}" for key in cells})) or "no samples"
        raise UserError("the run has no such model and variant", str(run), f"it has: {there}")
    return found


def _against_published(
    run: Path, ours: Mapping[tuple[str, str], Matrix], table: published.PublishedTable, model: str | None
) -> list[Pair]:
    """Our matrices of the table's syntax: those of its model, or, if there are none, all as stand-ins."""
    fitting = [place for place in ours if table.syntax in place[1].split("-")]
    if not fitting:
        raise UserError(f"no variant of the run uses the {table.syntax} syntax of {table.name}", str(run))
    same = [place for place in fitting if published.slug(place[0]) == table.model]
    pairs = []
    for place in fitting if model else same or fitting:
        rows = []
        for where, theirs in table.cells.items():
            cell = ours[place].get(where)
            if cell is not None and cell.counts[1]:
                result = independent(*cell.counts, theirs.k, theirs.n)
                rows.append((*where, cell.held_out, cell.counts, (theirs.k, theirs.n), result))
        pairs.append(Pair(*place, f"{published.PREFIX}{table.name}", place not in same, rows))
    return pairs


def _against_run(
    ours: Mapping[tuple[str, str], Matrix], theirs: Mapping[tuple[str, str], Matrix], other: str
) -> list[Pair]:
    """Matrices of the same model and variant; if none agree but each run has one, those two."""
    places = [(place, place) for place in ours if place in theirs]
    if not places and len(ours) == len(theirs) == 1:
        places = [(next(iter(ours)), next(iter(theirs)))]
    if not places:
        raise UserError("the two runs share no model and variant", other, "choose one with --model and --variant")
    pairs = []
    for mine, yours in places:
        rows = []
        for where, cell in ours[mine].items():
            match = theirs[yours].get(where)
            result = contrast(cell, match) if match is not None else None
            if match is not None and result is not None:
                rows.append((*where, cell.held_out, (result.k1, result.n1), (result.k2, result.n2), result))
        pairs.append(Pair(*mine, f"{other} {yours[0]} {yours[1]}", mine != yours, rows))
    return pairs


def _result(pair: Pair) -> Json:
    """One comparison as JSON, with adjusted p values, rank correlation and the verdict."""
    adjusted = stats.benjamini_hochberg([row[5].p if row[5] else None for row in pair.cells])
    cells = []
    for (skill, shots, held_out, mine, theirs, result), q in zip(pair.cells, adjusted, strict=True):
        own, rate = stats.wilson(*mine), theirs[0] / theirs[1]
        cells.append(
            {
                "skill": skill,
                "shots": shots,
                "held_out": held_out,
                "ours": [*mine],
                "theirs": [*theirs],
                "our_interval": [rounded(own.low), rounded(own.high)],
                "inside": rate in own,
                **{k: v for k, v in contrast_json(result).items() if k not in ("first", "second")},
                "p_adjusted": rounded(q),
            }
        )
    rho = stats.spearman([r[3][0] / r[3][1] for r in pair.cells], [r[4][0] / r[4][1] for r in pair.cells])
    return {
        "model": pair.model,
        "variant": pair.variant,
        "other": pair.other,
        "stand_in": pair.stand_in,
        "cells": cells,
        "spearman": rounded(rho),
        "differing": sum(cell["p_adjusted"] is not None and cell["p_adjusted"] <= 0.05 for cell in cells),
        "verdict": verdict(cells, pair.other),
    }


def verdict(cells: Sequence[Json], other: str) -> str:
    """The line that sums a comparison up."""
    inside = sum(bool(cell["inside"]) for cell in cells)
    kind = "published values" if other.startswith(published.PREFIX) else "of the other run's values"
    verb = "lies" if len(cells) == 1 else "lie"
    return f"{inside} of {len(cells)} {kind} {verb} within our 95% interval"
