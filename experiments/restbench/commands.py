"""What RestBench adds to the `rest` commands: `serve` a simulated service, `bench` a model on the tasks.

Importing this file mounts both on the toolkit's own `rest` application, which knows nothing of experiments.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.restbench.serve import serve
from toolkit.restgpt.cli import app

__all__ = ["app"]


@app.command()
def bench(
    model: Annotated[str, typer.Option(help="As for `ask`, or oracle: the scripted model that knows the way.")],
    strategy: Annotated[
        list[str] | None, typer.Option(help="How to plan; may be repeated. restgpt by default.")
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="tmdb or spotify; both by default.")] = None,
    task: Annotated[list[int] | None, typer.Option(help="Only this task (from 0), with one --scenario.")] = None,
    worlds: Annotated[int, typer.Option(min=1, help="In how many worlds to ask every task.")] = 1,
    counterfactual: Annotated[bool, typer.Option(help="The same names with every fact drawn anew.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many episodes per gold length.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of RestBench's files; else RESTBENCH_DIR.")] = None,
    key_env: Annotated[str | None, typer.Option(help="Variable that holds the model server's key.")] = None,
    context: Annotated[int | None, typer.Option(help="Tokens the model takes, if other than it says.")] = None,
    name: Annotated[str, typer.Option(help="What the records call the model.")] = "model",
    out: Annotated[Path, typer.Option(help="The run folder; the same command goes on in it.")] = Path("runs/bench"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Run a model on RestBench's tasks and print success, correct path and cost.

    For anything more, write a configuration and use `toolkit run`.
    """
    from experiments import base
    from experiments.engine import run
    from experiments.progress import Progress
    from experiments.report.build import read
    from experiments.verbs import stoppable

    scenarios = scenario or ["tmdb", "spotify"]
    spec = {"name": name, "model": model, "key_env": key_env, "context": context}
    typed: dict[str, Any] = {
        "experiment": "restbench",
        "models": [{key: value for key, value in spec.items() if value is not None}],
        "strategies": strategy or ["restgpt"],
        "scenarios": scenarios,
        "tasks": dict.fromkeys(scenarios, task) if task else {},
        "worlds": worlds,
        "counterfactual": counterfactual,
        "data": None if data is None else str(data),
    }
    source = base.Source(Path("rest bench"), typed)
    experiment = base.make(typed, source.path)
    with stoppable(), Progress(sys.stderr) as progress:
        run(experiment, source, out, progress, limit)
    table = read(out).extra[0]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    if as_json:
        typer.echo(json.dumps({"run": str(out), "rows": rows}))
        return
    for line in map(summary, rows):
        typer.echo(line)
    typer.echo(f"the episodes are in {out}; toolkit report {out} makes a page of them")


def summary(row: dict[str, Any]) -> str:
    """One row of the main table in a line."""
    what = f"{row['model']} {row['strategy']} {row['scenario']}"
    success = f"success {row['successes']}/{row['n']} = {row['success %']:.1f} % [{row['low']:.1f}, {row['high']:.1f}]"
    delta = "--" if row["delta length"] is None else f"{row['delta length']:.2f}"
    paths = f"correct path {row['CP %']:.1f} % (v2 {row['CP v2 %']:.1f} %), delta length {delta}"
    return f"{what}: {success}, {paths}, {row['requests']:.2f} requests, {row['tokens']:.0f} tokens"


app.command()(serve)
