"""Tables that only some experiments have, beside the matrices: who makes them, and how they become files.

A table is names and values; the experiment computes them from the samples, and everything here only writes them down.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.report.tables import NOT_RUN, escaped

# experiment -> module:function from (header, samples) to its tables
EXTRA = {"restbench": "experiments.restbench.report:tables", "tuning": "experiments.tuning.report:tables"}
# experiment -> module:function like `compare.compare`, for published figures that are no matrices
COMPARE = {"restbench": "experiments.restbench.compare:compare"}
Value = str | int | float | None
Samples = Callable[[], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Table:
    """A table. `name` is the file's; None in a row is missing and shown as such, floats get one or two digits."""

    name: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]

    @property
    def shown(self) -> list[list[str]]:
        """The rows as people read them."""
        return [[shown(value) for value in row] for row in self.rows]


def shown(value: Value) -> str:
    """A value as people read it."""
    if value is None:
        return NOT_RUN
    if isinstance(value, float):
        return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"
    return str(value)


def extra_tables(header: Mapping[str, Any], samples: Samples) -> list[Table]:
    """The further tables of a run; none for most experiments, and then the samples are not read."""
    make = _found(EXTRA, header)
    return [] if make is None else list(make(header, samples()))


def comparison(header: Mapping[str, Any]) -> Callable[..., dict[str, Any]] | None:
    """How runs like this one are compared with published figures, when it is not the common way."""
    return _found(COMPARE, header)


def _found(places: Mapping[str, str], header: Mapping[str, Any]) -> Callable[..., Any] | None:
    place = places.get(str(header.get("experiment")))
    if place is None:
        return None
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def texts(tables: Iterable[Table]) -> dict[str, str]:
    """The files of the tables by their path in a run folder."""
    files: dict[str, str] = {}
    for table in tables:
        files[f"report/{table.name}.md"] = markdown(table)
        files[f"report/{table.name}.csv"] = comma_separated(table)
    return files


def markdown(table: Table) -> str:
    """The table as Markdown, with its title and note."""
    lines = [f"# {escaped(table.title)}", "", escaped(table.note), ""]
    lines.append("| " + " | ".join(map(escaped, table.columns)) + " |")
    lines.append("|" + " --- |" * len(table.columns))
    lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in table.shown]
    return "\n".join([*lines, ""])


def comma_separated(table: Table) -> str:
    """The table as CSV, numbers with all their digits and nothing where a value is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return out.getvalue()
