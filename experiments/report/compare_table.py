"""A comparison as a terminal table. Formats what compare.py computed and computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from experiments.report.extra import shown
from experiments.report.tables import NOT_RUN, mark, percent

if TYPE_CHECKING:
    from rich.console import RenderableType

Json = Mapping[str, Any]
TESTS = {"fisher": "Fisher's exact test", "mcnemar": "exact McNemar test, same items"}
EXPECTATION = "If both were exact repeats, somewhat fewer than 95 % would: the other side varies by chance too."


def comparison_table(result: Json) -> RenderableType:
    """All comparisons for a rich console, each followed by its verdict."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for comparison in result["comparisons"]:
        title = f"{comparison['model']} {comparison['variant']}  against  {comparison['other']}"
        parts += [
            Text(title, style="bold"),
            _table(comparison),
            Text(f"{comparison['verdict']}.", style="bold"),
            Text(EXPECTATION, style="dim"),
        ]
        rho = comparison["spearman"]
        agreement = NOT_RUN if rho is None else f"{rho:.2f}"
        tests = " and ".join(sorted({TESTS[cell["test"]] for cell in comparison["cells"] if cell["test"]}))
        differing = f"{comparison['differing']} cells differ at adjusted p <= 0.05 ({tests}); Spearman {agreement}."
        parts.append(Text(f"{differing}\n"))
        if comparison["stand_in"]:
            name = f"{comparison['model']} {comparison['variant']}"
            parts.append(Text(f"Note: {name} stands in for another model or variant; this is no reproduction.\n"))
    return Group(*parts)


def value_table(result: Json) -> RenderableType:
    """A comparison that is no matrix: a table for each value of the first `leading` columns, then its caveats."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    leading = result["leading"]
    parts: list[RenderableType] = []
    for head, rows in groupby(result["rows"], key=lambda row: row[:leading]):
        parts.append(Text(f"{' '.join(head)}  against  {result['other']}", style="bold"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for name in result["columns"][leading:]:
            table.add_column(Text(name))
        for row in rows:
            table.add_row(*(Text(shown(value)) for value in row[leading:]))
        parts.append(table)
    return Group(*parts, *(Text(line, style="dim") for line in result["caveats"]))


def _table(comparison: Json) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", "N"):
        table.add_column(name, no_wrap=True)
    for name in ("ours", "k/n", "theirs", "k/n", "change", "95 %", "adj. p", "inside"):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in comparison["cells"]:
        table.add_row(*map(Text, _row(cell)), style="" if cell["inside"] else "yellow")
    return table


def _row(cell: Json) -> list[str]:
    (k1, n1), (k2, n2) = cell["ours"], cell["theirs"]
    q, bounds = cell["p_adjusted"], cell["interval"]
    return [
        f"{cell['skill']}{mark(cell)}",
        str(cell["shots"]),
        percent(k1 / n1),
        f"{k1}/{n1}",
        percent(k2 / n2),
        f"{k2}/{n2}",
        NOT_RUN if cell["difference"] is None else f"{100 * cell['difference']:+.1f}",
        NOT_RUN if bounds is None else f"{100 * bounds[0]:+.0f} {100 * bounds[1]:+.0f}",
        NOT_RUN if q is None else "<.0001" if q < 1e-4 else f"{q:.4f}",
        "yes" if cell["inside"] else "no",
    ]
