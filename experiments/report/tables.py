"""The matrices as Markdown, CSV, LaTeX (booktabs) and for the terminal, all from one summary.

Names of models and skills are data and are escaped for each format. Computes no number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

Json = Mapping[str, Any]
HELD_OUT = "†"
NOT_RUN = "--"
NOTE = (
    "Percent [95 % Wilson interval] k/n. † held out: the skill's own example is not in the prompt. "
    "-- not run. ‡ held out in some trials of the cell only."
)


def cells_by_place(matrix: Json) -> dict[tuple[str, int], Json]:
    """Cells of a matrix keyed by (row, column)."""
    return {(cell["skill"], cell["shots"]): cell for cell in matrix["cells"]}


def mark(cell: Json) -> str:
    """The held-out mark of a cell."""
    return {True: HELD_OUT, False: "", None: "‡"}[cell["held_out"]]


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as percent, or the sign for missing."""
    return NOT_RUN if value is None else f"{100 * value:.{digits}f}"


def cell_text(cell: Json | None) -> str:
    """`87.5† [82.2, 91.4] 175/200`."""
    if cell is None or cell["rate"] is None:
        return NOT_RUN
    low, high = cell["wilson"]
    return f"{percent(cell['rate'])}{mark(cell)} [{percent(low)}, {percent(high)}] {cell['k']}/{cell['n']}"


def markdown(summary: Json) -> str:
    """One Markdown table per matrix."""
    parts = [f"# {escaped(summary['title'])}", "", NOTE, ""]
    for matrix in summary["matrices"]:
        cells = cells_by_place(matrix)
        parts += [f"## {escaped(matrix['model'])}, {escaped(matrix['variant'])}", ""]
        parts += [f"Scorer `{matrix['scorer']}`, {summary['axes']['columns']} across.", ""]
        parts.append("| " + " | ".join([escaped(summary["axes"]["rows"]), *map(str, matrix["columns"])]) + " |")
        parts.append("|" + " --- |" * (len(matrix["columns"]) + 1))
        for row in matrix["rows"]:
            parts.append(
                "| " + " | ".join([escaped(row), *(cell_text(cells.get((row, c))) for c in matrix["columns"])]) + " |"
            )
        parts.append("")
    return "\n".join(parts)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    flat = " ".join(str(text).split())
    return "".join("\\" + c if c in "\\`*_{}[]<>()#+-.!|^&~$" else c for c in flat)


CSV_COLUMNS = ("model", "variant", "scorer", "skill", "shots", "held_out", "k", "n", "percent", "low", "high")


def comma_separated(summary: Json) -> str:
    """One line per cell; percent with four digits, empty where missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for matrix in summary["matrices"]:
        for cell in matrix["cells"]:
            numbers = [cell["rate"], *(cell["wilson"] or (None, None))]
            writer.writerow(
                [matrix["model"], matrix["variant"], matrix["scorer"], cell["skill"], cell["shots"]]
                + ["" if cell["held_out"] is None else str(cell["held_out"]).lower(), cell["k"], cell["n"]]
                + ["" if x is None else f"{100 * x:.4f}" for x in numbers]
            )
    return out.getvalue()


_TEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "*": r"\ensuremath{*}",
    "-": "-",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def tex(text: str) -> str:
    """Text that LaTeX shows as it is; what plain pdfLaTeX has no glyph for becomes `?`."""
    flat = " ".join(str(text).split())
    return "".join(_TEX.get(c, c if c.isascii() and c.isprintable() else "?") for c in flat)


def latex(summary: Json) -> str:
    r"""One `table` per matrix; needs `\usepackage{booktabs}`."""
    parts = ["% needs \\usepackage{booktabs}; percent correct, k/n, 95 % Wilson interval; dagger: held out"]
    for matrix in summary["matrices"]:
        cells = cells_by_place(matrix)
        parts += [r"\begin{table}[t]", r"\centering\small", rf"\begin{{tabular}}{{l{'r' * len(matrix['columns'])}}}"]
        head = " & ".join([tex(summary["axes"]["rows"]), *map(str, matrix["columns"])])
        parts += [r"\toprule", head + r" \\", r"\midrule"]
        for row in matrix["rows"]:
            body = [cells.get((row, column)) for column in matrix["columns"]]
            parts.append(" & ".join([tex(row), *(_tex_rate(cell) for cell in body)]) + r" \\")
            parts.append(" & ".join(["", *(_tex_detail(cell) for cell in body)]) + r" \\")
        parts += [r"\bottomrule", r"\end{tabular}"]
        caption = f"{matrix['model']}, {matrix['variant']}: percent correct by {summary['axes']['columns']}"
        parts += [rf"\caption{{{tex(caption)}.}}", r"\end{table}", ""]
    return "\n".join(parts)


def _tex_rate(cell: Json | None) -> str:
    if cell is None or cell["rate"] is None:
        return NOT_RUN
    sign = {True: r"$^\dagger$", False: "", None: r"$^\ddagger$"}[cell["held_out"]]
    return f"{percent(cell['rate'])}{sign}"


def _tex_detail(cell: Json | None) -> str:
    if cell is None or cell["rate"] is None:
        return ""
    low, high = cell["wilson"]
    return rf"{{\tiny {cell['k']}/{cell['n']} [{percent(low, 0)}, {percent(high, 0)}]}}"


def terminal(summary: Json) -> RenderableType:
    """All matrices for a rich console; held-out cells carry a dagger and another colour."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    tables: list[RenderableType] = []
    for matrix in summary["matrices"]:
        cells = cells_by_place(matrix)
        name = Text(f"\n{matrix['model']}  {matrix['variant']}", style="bold")
        tables.append(name.append(f"  scorer {matrix['scorer']}", style="dim"))
        table = Table()
        table.add_column(Text(summary["axes"]["rows"]))
        for column in matrix["columns"]:
            table.add_column(Text(f"{summary['axes']['columns']} {column}"), justify="right")
        for row in matrix["rows"]:
            table.add_row(Text(row), *(_terminal_cell(cells.get((row, column))) for column in matrix["columns"]))
        tables.append(table)
    return Group(*tables, Text(NOTE, style="dim"))


def _terminal_cell(cell: Json | None) -> RenderableType:
    from rich.text import Text

    if cell is None or cell["rate"] is None:
        return Text(NOT_RUN, style="dim")
    low, high = cell["wilson"]
    text = Text(f"{percent(cell['rate'])}{mark(cell)}", style="bold" if cell["held_out"] is False else "bold cyan")
    text.append(f"\n{cell['k']}/{cell['n']}", style="default")
    text.append(f"\n{percent(low, 0)}-{percent(high, 0)}", style="dim")
    return text
