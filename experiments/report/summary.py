"""`summary.json`: every number that tables, plots and pages show, computed from a tally and nothing else.

Fractions are rounded to six digits, so that the file is the same on every machine. Missing is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

from experiments.report.contrast import Contrast, contrast
from experiments.report.layout import Layout
from experiments.report.tally import Cell, CellKey, Tally, Trial, scorer_of
from toolkit import stats

FORMAT = 1
Json = dict[str, Any]


def rounded(value: float | None) -> float | None:
    """Six digits; None stays None."""
    return None if value is None else round(value, 6)


def interval(bounds: stats.Interval | None) -> list[float | None] | None:
    """An interval as JSON."""
    return None if bounds is None else [rounded(bounds.low), rounded(bounds.high)]


def build(layout: Layout, tally: Tally, throughput: Sequence[Json] = ()) -> Json:
    """The whole summary. `throughput` comes from the timings, which are kept apart from samples."""
    keys = layout.order(tally.cells)
    matrices = [
        _matrix(model, variant, list(group), tally.cells)
        for (model, variant), group in groupby(keys, key=lambda key: (key.model, key.variant))
    ]
    return {
        "format": FORMAT,
        "title": layout.title,
        "axes": {"rows": layout.row_label, "columns": layout.column_label},
        "samples": tally.samples,
        "matrices": matrices,
        "sizes": _sizes(keys, tally.cells),
        "throughput": list(throughput),
    }


def _matrix(model: str, variant: str, keys: list[CellKey], cells: dict[CellKey, Cell]) -> Json:
    columns = sorted({key.shots for key in keys})
    rows = list(dict.fromkeys(key.skill for key in keys))
    scorers = sorted({name for key in keys for name in cells[key].scored})
    return {
        "model": model,
        "variant": variant,
        "scorer": scorer_of(variant, scorers),
        "rows": rows,
        "columns": columns,
        "cells": [_cell(key, cells[key], scorers) for key in keys],
        "gaps": [_gap(shots, [cells[key] for key in keys if key.shots == shots]) for shots in columns],
        "confusion": [
            {"shots": key.shots, "asked": key.skill, "called": dict(sorted(cells[key].called.items()))} for key in keys
        ],
        "steps": _contrasts(
            [(later, earlier) for earlier, later in pairwise(keys) if earlier.skill == later.skill],
            cells,
            lambda later, earlier: {"skill": later.skill, "shots": later.shots, "from": earlier.shots},
        ),
    }


def _cell(key: CellKey, cell: Cell, scorers: Sequence[str]) -> Json:
    k, n = cell.counts
    trials = [trial for trial in cell.trials.values() if trial.passed is not None]
    return {
        "skill": key.skill,
        "shots": key.shots,
        "held_out": cell.held_out,
        "k": k,
        "n": n,
        "rate": rounded(k / n) if n else None,
        "wilson": interval(stats.wilson(k, n)) if n else None,
        "by_order": interval(_bootstrap(trials)),
        "scores": {name: [cell.passes[name], cell.scored[name]] for name in scorers},
        "outcomes": dict(sorted(cell.outcomes.items())),
        "with_call": cell.with_call,
        "with_valid_call": cell.with_valid_call,
        "passed_with_valid_call": cell.passed_with_valid_call,
        "samples": len(cell.trials),
    }


def _bootstrap(trials: Iterable[Trial]) -> stats.Interval | None:
    """Interval over shot orders: how far the rate depends on the order in which examples were shown."""
    kept = list(trials)
    if not kept:
        return None
    return stats.cluster_bootstrap([bool(trial.passed) for trial in kept], [trial.order for trial in kept])


def _gap(shots: int, cells: Sequence[Cell]) -> Json:
    """Seen minus held-out at one number of shots, with bootstrap intervals over trials and over shot orders."""
    kept = [(number, t) for cell in cells for number, t in cell.trials.items() if t.passed is not None]
    passed = [bool(t.passed) for _, t in kept]
    seen = [not t.held_out for _, t in kept]
    k_seen, n_seen = sum(p for p, s in zip(passed, seen, strict=True) if s), sum(seen)
    k_held, n_held = sum(passed) - k_seen, len(passed) - n_seen
    both = bool(n_seen and n_held)
    return {
        "shots": shots,
        "seen": [k_seen, n_seen],
        "held_out": [k_held, n_held],
        "gap": rounded(k_seen / n_seen - k_held / n_held) if both else None,
        "by_trial": interval(stats.cluster_bootstrap_gap(passed, seen, [n for n, _ in kept])) if both else None,
        "by_order": interval(stats.cluster_bootstrap_gap(passed, seen, [t.order for _, t in kept])) if both else None,
    }


def contrast_json(result: Contrast | None) -> Json:
    """A contrast as JSON; all None when the cells cannot be compared."""
    if result is None:
        return dict.fromkeys(("first", "second", "difference", "interval", "test", "p"))
    return {
        "first": [result.k1, result.n1],
        "second": [result.k2, result.n2],
        "difference": rounded(result.difference),
        "interval": [rounded(result.low), rounded(result.high)],
        "test": result.test,
        "p": rounded(result.p),
    }


def _contrasts(
    pairs: Sequence[tuple[CellKey, CellKey]],
    cells: dict[CellKey, Cell],
    label: Callable[[CellKey, CellKey], Json],
) -> list[Json]:
    """Contrasts of pairs of cells with p values adjusted over all of them (Benjamini-Hochberg)."""
    results = [contrast(cells[first], cells[second]) for first, second in pairs]
    adjusted = stats.benjamini_hochberg([result.p if result else None for result in results])
    return [
        {**label(*pair), **contrast_json(result), "p_adjusted": rounded(q)}
        for pair, result, q in zip(pairs, results, adjusted, strict=True)
    ]


def _sizes(keys: Sequence[CellKey], cells: dict[CellKey, Cell]) -> list[Json]:
    """Each model against the one before it in the header's order, cell by cell, within a variant."""
    models = list(dict.fromkeys(key.model for key in keys))
    pairs = [
        (CellKey(larger, key.variant, key.shots, key.skill), key)
        for smaller, larger in pairwise(models)
        for key in keys
        if key.model == smaller and CellKey(larger, key.variant, key.shots, key.skill) in cells
    ]
    return _contrasts(
        pairs,
        cells,
        lambda larger, smaller: {
            "model": larger.model,
            "from": smaller.model,
            "variant": larger.variant,
            "skill": larger.skill,
            "shots": larger.shots,
        },
    )
