"""The figures of a report: drawn from a summary, saved as SVG and PNG, the same bytes on every run.

Holds the style and the list of figures; each kind of figure is drawn in plot_kinds.py. Needs matplotlib (extra
`plots`), uses no global state of it, and knows nothing of samples.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy
import PIL
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.report import plot_kinds
from experiments.report.build import code_digest

Json = Mapping[str, Any]
DEFAULTS: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "Agg"}
STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a94a3",
    "axes.labelcolor": "#333c4a",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": "#556070",
    "ytick.color": "#556070",
    "axes.grid": False,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.07,
    "svg.fonttype": "none",
    "svg.hashsalt": "toolkit",
    "text.parse_math": False,
    "path.simplify": False,
}


def environment() -> str:
    """What decides the bytes of a figure, beside the summary: libraries, the kind of machine, the code."""
    versions = f"matplotlib {matplotlib.__version__}, numpy {numpy.__version__}, pillow {PIL.__version__}"
    code = code_digest([Path(__file__), Path(plot_kinds.__file__)])
    return f"{versions}, {platform.system()} {platform.machine()}, code {code}"


def names(summary: Json) -> list[str]:
    """The figures that this summary has, without drawing them."""
    return [name for name, _, _ in _figures(summary)]


def _figures(summary: Json) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """(file name, kind, arguments) of every figure, in the order of the report."""
    variants = list(dict.fromkeys(matrix["variant"] for matrix in summary["matrices"]))
    used: set[str] = set()
    for kind in ("heat", "shots"):
        for variant in variants:
            group = [matrix for matrix in summary["matrices"] if matrix["variant"] == variant]
            yield _file_name(used, kind, variant), kind, (group, summary["axes"])
    for kind in ("confusion", "outcomes"):
        for matrix in summary["matrices"]:
            yield _file_name(used, kind, matrix["model"], matrix["variant"]), kind, (matrix, summary["axes"])
    if any(gap["gap"] is not None for matrix in summary["matrices"] for gap in matrix["gaps"]):
        yield "gaps", "gaps", (summary["matrices"], summary["axes"])
    if summary["throughput"]:
        yield "throughput", "throughput", (summary["throughput"],)


def _file_name(used: set[str], *parts: str) -> str:
    """A file name from names that may hold anything; a number sets equal ones apart."""
    base = "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.")[:60] or "x" for part in parts)
    name, number = base, 2
    while name in used:
        name, number = f"{base}-{number}", number + 1
    used.add(name)
    return name


def draw_all(summary: Json, folder: Path) -> list[str]:
    """Draw every figure into `folder` as NAME.svg and NAME.png; returns the names."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with matplotlib.rc_context({**DEFAULTS, **STYLE}):
        for name, kind, arguments in _figures(summary):
            figure: Figure = plot_kinds.KINDS[kind](*arguments)
            FigureCanvasAgg(figure)
            figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
            figure.set_layout_engine("none")  # laid out by the first save; a second pass would double the time
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
            drawn.append(name)
    return drawn
