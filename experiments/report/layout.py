"""How a run wants to be shown: axis names, the order of rows and models, and what differs from its source.

Everything comes from the run header, so that operators, tuning and restbench share one report. Knows no numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.report.tally import CellKey


@dataclass(frozen=True)
class Layout:
    """Names and orders. Models, variants and skills that a header does not list follow in order of appearance."""

    title: str
    row_label: str = "skill"
    column_label: str = "shots"
    models: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    deviations: tuple[str, ...] = field(default=())

    def order(self, keys: Iterable[CellKey]) -> list[CellKey]:
        """Cells sorted by model, variant, row, column."""
        found = list(keys)
        models = _rank(self.models, (key.model for key in found))
        variants = _rank(self.variants, (key.variant for key in found))
        skills = _rank(self.skills, (key.skill for key in found))
        return sorted(found, key=lambda k: (models[k.model], variants[k.variant], skills[k.skill], k.shots))


def _rank(listed: Iterable[str], found: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys([*listed, *found]))}


def layout_of(header: Mapping[str, Any]) -> Layout:
    """Read the `report` part of a run header (see experiments/records.py)."""
    report = header.get("report", {})
    axes = report.get("axes", {})
    return Layout(
        title=str(report.get("title", header.get("experiment", "run"))),
        row_label=str(axes.get("rows", "skill")),
        column_label=str(axes.get("columns", "shots")),
        models=tuple(report.get("models", ())),
        variants=tuple(report.get("variants", ())),
        skills=tuple(report.get("skills", ())),
        deviations=tuple(report.get("deviations", ())),
    )
