"""Published tables as data: `published:gpt-neo-125m/arrow` names `results/published/gpt-neo-125m/arrow.csv`.

The files say what their source prints and which k of n that must be. This file knows nothing of runs.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from toolkit.errors import UserError

PREFIX = "published:"
FOLDER = Path(__file__).resolve().parent.parent / "results" / "published"


@dataclass(frozen=True)
class PublishedCell:
    """One printed figure: the string as printed (percent), and the inferred count `k` of `n` trials."""

    percent: str
    k: int
    n: int


@dataclass(frozen=True)
class PublishedTable:
    """One published matrix. `cells` maps (skill, shots) to its figure."""

    name: str
    model: str
    syntax: str
    cells: dict[tuple[str, int], PublishedCell]


def names() -> list[str]:
    """The tables that exist, e.g. `gpt-neo-125m/arrow`."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.csv"))


def slug(model: str) -> str:
    """A model's name as tables spell it: last part of a hub id, lower case, dashes (`EleutherAI/gpt-neo-1.3B`)."""
    return re.sub(r"[ _]+", "-", model.rsplit("/", 1)[-1].strip().lower())


def load(reference: str) -> PublishedTable:
    """Read the table that `published:NAME` (or NAME) refers to. Raises UserError listing the tables that exist."""
    name = reference.removeprefix(PREFIX)
    if name not in names():
        raise UserError(f"there is no published table {name!r}", fix=f"choose one of {', '.join(names())}")
    model, syntax = name.split("/")
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        cells = {
            (row["skill"], int(row["shots"])): PublishedCell(row["percent"], int(row["k"]), int(row["n"]))
            for row in csv.DictReader(file)
        }
    return PublishedTable(name, model, syntax, cells)


def find(model: str, variant: str) -> PublishedTable | None:
    """The table of this very model whose syntax is a dash-separated part of `variant`; None if there is none."""
    for name in names():
        published_model, syntax = name.split("/")
        if published_model == slug(model) and syntax in variant.split("-"):
            return load(name)
    return None
