"""The verb `tune`: what it takes, how its progress is shown, and what it prints. The work is in toolkit/tuning."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.config import override, read_yaml, validated
from toolkit.errors import UserError
from toolkit.tuning.config import TuneConfig


def tune(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML configuration, see configs/tuning/.")],
    out: Annotated[
        Path | None, typer.Option(help="The adapter folder; runs/tuning/<tune of CONFIG> by default.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing adapter folder.")] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of CONFIG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train the adapter of CONFIG, or go on with an unfinished training of it.

    Ctrl-C and kills are safe: the same command goes on from the last checkpoint.
    """
    settings = validated(TuneConfig, override(read_yaml(config), assignments or ()), str(config))
    folder = out or Path("runs") / "tuning" / settings.tune
    for module in ("peft", *([settings.track] if settings.track else ())):
        if find_spec(module) is None:
            raise UserError(
                f"{module} is not installed", "toolkit tune", f"pip install 'heldout-toolkit[tune]' {module}"
            )
    from toolkit.tuning.tune import tune as train

    with Bar(sys.stderr) as bar:
        done = train(settings, folder, config.parent, bar, overwrite)
    facts = done.facts
    if as_json:
        print(json.dumps({"adapter": str(folder), **{key: facts[key] for key in ("steps", "trainable", "seconds")}}))
        return
    best = min(loss for _, loss in facts["validation"])
    print(f"trained on {' '.join(facts['data']['seen'])}; held out {' '.join(facts['data']['held_out']) or 'nothing'}")
    print(
        f"wrote {folder}: {facts['trainable']} trainable parameters, {facts['steps']} steps, {facts['tokens']} tokens, "
        f"{facts['seconds']:.0f} s, validation loss {best:.4f} at step {facts['best_step']}"
    )


class Bar:
    """Shows progress on `stream`: a bar with loss and time left on a terminal, a line for each tenth elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self.console = Console(file=stream)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, TimeRemainingColumn(), console=self.console, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("loading", total=None)
        self.steps = 0

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def begin(self, steps: int, done: int) -> None:
        """Start counting."""
        self.steps = steps
        self.bar.update(self.task, total=steps, completed=done)
        if done:
            self.console.print(f"going on after step {done}")

    def step(self, number: int, loss: float) -> None:
        """Show the loss of a step."""
        self.bar.update(self.task, completed=number, description=f"loss {loss:.3f}")
        if not self.console.is_terminal and 10 * number // self.steps != 10 * (number - 1) // self.steps:
            self.console.print(f"step {number}/{self.steps}  loss {loss:.4f}")

    def validated(self, number: int, loss: float) -> None:
        """Say the validation loss."""
        self.console.print(f"step {number}: validation loss {loss:.4f}")
