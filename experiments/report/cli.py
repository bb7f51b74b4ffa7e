"""The verbs `report`, `verify` and `compare`: what they take and what they print. The work is in commands.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from experiments.report import commands

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def report(run: RunPath, as_json: Json = False) -> None:
    """Write summary.json, samples.parquet, tables, plots and one self-contained page for RUN."""
    page = commands.report(run)
    figures = commands.has_figures(run)
    if as_json:
        print(json.dumps({"run": str(run), "page": str(page), "figures": figures}))
        return
    commands.print_report(run)
    print(f"wrote {page}" + ("" if figures else " without figures: install the extra `plots` and run this again"))


def verify(run: RunPath, as_json: Json = False) -> None:
    """Recompute everything of RUN from its samples; exit code 1 names the first difference."""
    checks = commands.verify(run)
    if as_json:
        print(json.dumps({"run": str(run), "checks": checks}))
        return
    for line in checks:
        print(f"ok  {line}")


def compare(
    run: RunPath,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="A run folder, or published:NAME.")],
    model: Annotated[str | None, typer.Option(help="Only this model of RUN.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only this variant of RUN.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Only the first so many trials of RUN's cells.")] = None,
    as_json: Json = False,
) -> None:
    """Compare RUN with another run or a published table, cell by cell.

    Published tables: published:gpt-neo-125m/arrow, gpt-neo-125m/equals, gpt-neo-1.3b/arrow, gpt-neo-1.3b/equals,
    gpt-neo-2.7b/arrow; for runs of restbench: published:restgpt-table4, restbench-followups.
    """
    result = commands.compare(run, other, model, variant, trials)
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        commands.print_comparison(result)
