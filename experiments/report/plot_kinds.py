"""One function per kind of figure: heat map, accuracy against shots, confusion, outcomes, gaps, throughput.

Each takes parts of a summary and returns a matplotlib Figure; none reads or writes a file or changes global state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from experiments import published
from experiments.report.tables import cells_by_place

Json = Mapping[str, Any]
INK, SOFT, HELD = "#1f2937", "#8a94a3", "#b45309"
LINES = ("#0b6bcb", "#c2410c", "#15803d", "#7c3aed", "#be185d", "#0e7490", "#854d0e", "#475569")
OUTCOMES = {
    "right_by_call": "#15803d",
    "right_without_call": "#86c79b",
    "right_call_wrong_answer": "#fbbf24",
    "wrong_operands": "#f59e0b",
    "wrong_operator": "#ea580c",
    "malformed_call": "#a855f7",
    "unknown_api": "#7c3aed",
    "tool_error": "#dc2626",
    "no_call": "#94a3b8",
    "cut_by_budget": "#475569",
}


def _panels(count: int, width: float, height: float, across: int) -> tuple[Figure, list[Axes]]:
    """A figure of `count` equal panels, at most `across` side by side; sizes in inches."""
    columns = min(count, across)
    lines = ceil(count / columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes[:count]


def _grid(axes: Axes, values: np.ndarray[Any, Any], rows: Sequence[str], columns: Sequence[object], cmap: str) -> None:
    """An image of percentages on the fixed scale 0..100 with tick labels and white rules between cells."""
    axes.imshow(values, cmap=cmap, vmin=0, vmax=100, aspect="auto")
    axes.set_xticks(range(len(columns)), [str(c) for c in columns])
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def heat(matrices: Sequence[Json], labels: Json) -> Figure:
    """Accuracy per cell with k/n, one panel per model; held-out cells are outlined."""
    longest = max(len(m["columns"]) for m in matrices)
    tallest = max(len(m["rows"]) for m in matrices)
    figure, panels = _panels(len(matrices), 1.0 + 0.72 * longest, 1.0 + 0.5 * tallest, 2)
    for axes, matrix in zip(panels, matrices, strict=True):
        cells = cells_by_place(matrix)
        values = np.full((len(matrix["rows"]), len(matrix["columns"])), np.nan)
        for (row, column), cell in cells.items():
            if cell["rate"] is not None:
                values[matrix["rows"].index(row), matrix["columns"].index(column)] = 100 * cell["rate"]
        _grid(axes, values, matrix["rows"], matrix["columns"], "Blues")
        for (row, column), cell in cells.items():
            _heat_cell(axes, matrix["columns"].index(column), matrix["rows"].index(row), cell)
        axes.set_title(f"{matrix['model']}\n{matrix['variant']}")
        axes.set_xlabel(labels["columns"])
        axes.set_ylabel(labels["rows"])
    figure.supxlabel("percent correct, k/n; outlined: held out", fontsize=8, color=SOFT)
    return figure


def _heat_cell(axes: Axes, x: int, y: int, cell: Json) -> None:
    if cell["rate"] is None:
        axes.text(x, y, "--", ha="center", va="center", color=SOFT)
        return
    ink = "white" if cell["rate"] > 0.6 else INK
    axes.text(x, y - 0.13, f"{100 * cell['rate']:.0f}", ha="center", va="center", color=ink, fontsize=10)
    axes.text(x, y + 0.25, f"{cell['k']}/{cell['n']}", ha="center", va="center", color=ink, fontsize=6)
    if cell["held_out"]:
        axes.add_patch(Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, fill=False, edgecolor=HELD, linewidth=1.6))


def shots(matrices: Sequence[Json], labels: Json) -> Figure:
    """Accuracy against shots with Wilson bands, one panel per row, one line per model; published values hollow."""
    rows = list(dict.fromkeys(row for matrix in matrices for row in matrix["rows"]))
    figure, panels = _panels(len(rows), 3.0, 2.3, 3)
    for axes, row in zip(panels, rows, strict=True):
        for colour, matrix in zip(LINES * len(matrices), matrices, strict=False):
            cells = [c for c in matrix["cells"] if c["skill"] == row and c["rate"] is not None]
            x, y = [c["shots"] for c in cells], [100 * c["rate"] for c in cells]
            low, high = [100 * c["wilson"][0] for c in cells], [100 * c["wilson"][1] for c in cells]
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(x, y, color=colour, linewidth=1.6, marker="o", markersize=3.5, label=matrix["model"])
            _published_points(axes, matrix, row, colour)
        axes.set_ylim(-3, 103)
        axes.set_xticks(sorted({c for matrix in matrices for c in matrix["columns"]}))
        axes.set_title(f"{labels['rows']} {row}")
        axes.grid(axis="y", color="#e5e9ef", linewidth=0.8)
        axes.set_axisbelow(True)
    panels[0].set_ylabel("percent correct")
    handles, names = panels[0].get_legend_handles_labels()
    if any(published.find(matrix["model"], matrix["variant"]) for matrix in matrices):
        hollow = Line2D([], [], linestyle="", marker="o", markersize=5, markerfacecolor="white", markeredgecolor=INK)
        handles, names = [*handles, hollow], [*names, "published"]
    figure.legend(handles, names, loc="outside upper left", ncols=4)
    figure.supxlabel(f"{labels['columns']} ({matrices[0]['variant']}; band: 95 % Wilson)", fontsize=8, color=SOFT)
    return figure


def _published_points(axes: Axes, matrix: Json, row: str, colour: str) -> None:
    table = published.find(matrix["model"], matrix["variant"])
    if table is None:
        return
    points = [(column, 100 * cell.k / cell.n) for (skill, column), cell in table.cells.items() if skill == row]
    if points:
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, s=26, facecolors="white", edgecolors=colour, zorder=3)


def confusion(matrix: Json, labels: Json) -> Figure:
    """Asked row against what was called, in percent of the row, one panel per number of shots."""
    called = list(dict.fromkeys([*matrix["rows"], *(name for c in matrix["confusion"] for name in c["called"])]))
    width, height = 0.9 + 0.38 * len(called), 1.4 + 0.33 * len(matrix["rows"])
    figure, panels = _panels(len(matrix["columns"]), width, height, 3 if width < 4.5 else 2)
    for axes, column in zip(panels, matrix["columns"], strict=True):
        values = np.full((len(matrix["rows"]), len(called)), np.nan)
        for entry in matrix["confusion"]:
            if entry["shots"] == column:
                total = sum(entry["called"].values())
                y = matrix["rows"].index(entry["asked"])
                values[y] = [100 * entry["called"].get(name, 0) / total for name in called]
        _grid(axes, values, matrix["rows"], called, "Purples")
        for (y, x), value in np.ndenumerate(values):
            if value >= 0.5:
                ink = "white" if value > 60 else INK
                axes.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=7.5, color=ink)
        axes.set_title(f"{labels['columns']} {column}")
        axes.set_ylabel("asked")
        for label in axes.get_xticklabels():
            if len(label.get_text()) > 3:
                label.set(rotation=45, ha="right", rotation_mode="anchor")
    figure.supxlabel(f"called, percent of asked ({matrix['model']}, {matrix['variant']})", fontsize=8, color=SOFT)
    return figure


def outcomes(matrix: Json, labels: Json) -> Figure:
    """Stacked outcome classes per cell, one panel per row."""
    figure, panels = _panels(len(matrix["rows"]), 2.7, 2.2, 3)
    present = {name for cell in matrix["cells"] for name in cell["outcomes"]}
    classes = [*(name for name in OUTCOMES if name in present), *sorted(present - OUTCOMES.keys())]
    for axes, row in zip(panels, matrix["rows"], strict=True):
        cells = [cell for cell in matrix["cells"] if cell["skill"] == row]
        bottom = np.zeros(len(cells))
        for name in classes:
            shares = np.array([100 * cell["outcomes"].get(name, 0) / cell["samples"] for cell in cells])
            x = [str(cell["shots"]) for cell in cells]
            axes.bar(x, shares, bottom=bottom, width=0.82, color=OUTCOMES.get(name, "#111827"),
                     edgecolor="white", linewidth=0.6, label=name.replace("_", " "))  # fmt: skip
            bottom += shares
        axes.set_ylim(0, 100)
        axes.set_title(f"{labels['rows']} {row}")
    panels[0].set_ylabel("percent of samples")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, fontsize=8)
    figure.supxlabel(f"{labels['columns']} ({matrix['model']}, {matrix['variant']})", fontsize=8, color=SOFT)
    return figure


def gaps(matrices: Sequence[Json], labels: Json) -> Figure:
    """Forest plot of seen minus held-out accuracy with bootstrap intervals over trials (thick) and orders (thin)."""
    lines = [(m, gap) for m in matrices for gap in m["gaps"] if gap["gap"] is not None]
    figure = Figure(figsize=(8.4, 1.2 + 0.27 * len(lines)), layout="constrained")
    axes = figure.subplots()
    models = list(dict.fromkeys(m["model"] for m in matrices))
    for y, (matrix, gap) in enumerate(reversed(lines)):
        colour = LINES[models.index(matrix["model"]) % len(LINES)]
        for name, weight in (("by_order", 1.0), ("by_trial", 3.0)):
            if gap[name] is not None:
                axes.plot([100 * end for end in gap[name]], [y, y], color=colour, linewidth=weight, alpha=0.8)
        axes.plot([100 * gap["gap"]], [y], "o", color=colour, markersize=5, markeredgecolor="white")
    axes.axvline(0, color=SOFT, linewidth=1)
    names = [f"{m['model']}  {m['variant']}  {labels['columns']} {gap['shots']}" for m, gap in reversed(lines)]
    axes.set_yticks(range(len(lines)), names)
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e5e9ef", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(
        "seen minus held out, percentage points\nbootstrap 95 %: over trials (thick), over shot orders (thin)"
    )
    return figure


def throughput(entries: Sequence[Json]) -> Figure:
    """Samples per second of each (model, variant)."""
    figure = Figure(figsize=(8.4, 0.9 + 0.34 * len(entries)), layout="constrained")
    axes = figure.subplots()
    names = [f"{entry['model']}  {entry['variant']}" for entry in reversed(entries)]
    speeds = [entry["samples_per_second"] or 0.0 for entry in reversed(entries)]
    axes.barh(range(len(entries)), speeds, color=LINES[0], height=0.6)
    for y, (entry, speed) in enumerate(zip(reversed(entries), speeds, strict=True)):
        tokens = entry["tokens_per_second"]
        detail = "" if tokens is None else f"  {tokens:,.0f} tokens/s"
        axes.text(speed, y, f" {speed:,.1f}{detail}", va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(entries)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.35 * max([*speeds, 1e-9]))
    axes.set_xlabel("samples per second")
    return figure


KINDS: dict[str, Callable[..., Figure]] = {
    "heat": heat,
    "shots": shots,
    "confusion": confusion,
    "outcomes": outcomes,
    "gaps": gaps,
    "throughput": throughput,
}
