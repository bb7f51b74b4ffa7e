"""What `toolkit plan` says of an experiment before anything runs: grid, prompts, tokens, time, and what n can show.

Uses no model and no torch. Numbers that are not known here (a tokenizer that is not on this machine, a speed that was
never measured) are None and shown as `--`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

from experiments import records
from experiments.base import Experiment, Preview
from toolkit import stats


def measured(folder: Path) -> dict[str, float]:
    """Samples per second by model of an earlier run in `folder`; empty where there is none."""
    seconds: Counter[str] = Counter()
    samples: Counter[str] = Counter()
    for timing in records.read_timings(folder):
        model = str(timing["id"]).split("/")[0]
        seconds[model] += timing["seconds"]
        samples[model] += 1
    return {model: samples[model] / seconds[model] for model in samples if seconds[model] > 0}


def facts(experiment: Experiment, speeds: Mapping[str, float]) -> dict[str, Any]:
    """Everything that is known of the plan, as JSON data. Measured `speeds` go before those of the configuration."""
    cells: dict[tuple[str, str, int, str], int] = Counter(item.cell for item in experiment.items())
    per_model = Counter[str]()
    for (model, *_), count in cells.items():
        per_model[model] += count
    trials = sorted(set(cells.values()))
    seconds = {
        name: _seconds(count, speeds.get(name) or experiment.speeds.get(name)) for name, count in per_model.items()
    }
    return {
        "samples": sum(cells.values()),
        "cells": len(cells),
        "trials": trials,
        "models": dict(per_model),
        "seconds": seconds,
        "power": [_power(count) for count in trials],
        "prompts": [_preview(preview) for preview in experiment.previews()],
    }


def _seconds(samples: int, per_second: float | None) -> int | None:
    return None if per_second is None else ceil(samples / per_second)


def _power(trials: int) -> dict[str, Any]:
    """What a cell of n trials can show, at the widest (rate one half)."""
    return {
        "trials": trials,
        "half_width": round(stats.half_width(trials), 4),
        "detectable": round(stats.detectable_difference(trials), 4),
        "detectable_paired": round(stats.detectable_difference(trials, discordant=0.25), 4),
    }


def _preview(preview: Preview) -> dict[str, Any]:
    item = preview.item
    return {
        "variant": item.variant,
        "shots": item.shots,
        "skill": item.skill,
        "held_out": preview.held_out,
        "tokens": dict(preview.tokens),
        "prompt": preview.prompt,
    }


def show(plan: dict[str, Any]) -> None:
    """Print the plan for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(f"{plan['samples']} samples: {plan['cells']} cells of {_list(plan['trials'])} trials")
    for name, count in plan["models"].items():
        seconds = plan["seconds"][name]
        time = "--" if seconds is None else f"{seconds // 60} min {seconds % 60} s"
        console.print(Text(f"  {name}: {count} samples, about {time}"))
    for power in plan["power"]:
        console.print(
            f"n = {power['trials']}: 95 % interval +-{100 * power['half_width']:.1f} points at a rate of 50 %; "
            f"80 % power for {100 * power['detectable']:.1f} points between cells, "
            f"{100 * power['detectable_paired']:.1f} on the same items (a quarter discordant)"
        )
    table = Table("variant", "shots", "skill", "held out", "prompt tokens", title="cells")
    for entry in plan["prompts"]:
        counts = {"--" if count is None else str(count) for count in entry["tokens"].values()}
        row = (entry["variant"], str(entry["shots"]), entry["skill"], "†" if entry["held_out"] else "", _list(counts))
        table.add_row(*map(Text, row))
    console.print(table)
    for entry in plan["prompts"]:
        console.rule(Text(f"{entry['variant']} N={entry['shots']} {entry['skill']}, trial 0"))
        console.print(Text(entry["prompt"]), soft_wrap=True)


def _list(values: Any) -> str:
    return ", ".join(map(str, sorted(values, key=str)))
