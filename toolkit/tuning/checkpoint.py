"""State of a training on disk: what trains, the optimiser, the loss curve. Replaced by one rename, read safely.

Frozen weights are not in it; random numbers and batches follow from seed and step. Knows nothing of PEFT or accelerate.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from toolkit.errors import UserError

NAME = "checkpoint.pt"
Weights = dict[str, torch.Tensor]


@dataclass
class State:
    """Where a training is. `losses` holds the training loss of every step, `validation` pairs of (step, loss).

    `best` are the weights of the lowest validation loss; `tokens` counts tokens seen, padding left out; `seconds` is
    wall time spent over all sessions.
    """

    step: int = 0
    losses: list[float] = field(default_factory=list)
    validation: list[tuple[int, float]] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0
    best: Weights = field(default_factory=dict)

    @property
    def best_loss(self) -> float | None:
        """The lowest validation loss so far."""
        return min((loss for _, loss in self.validation), default=None)

    @property
    def best_step(self) -> int | None:
        """The step after which it was measured."""
        return min(self.validation, key=lambda pair: pair[1])[0] if self.validation else None

    def stale(self) -> int:
        """How many validations have passed since the best one."""
        losses = [loss for _, loss in self.validation]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0


def write(folder: Path, digest: str, state: State, weights: Weights, optimizer: dict[str, Any]) -> None:
    """Replace the checkpoint in `folder`; the old one is there until the new one is whole."""
    temporary = folder / f"{NAME}.new"
    torch.save({"digest": digest, "state": asdict(state), "weights": weights, "optimizer": optimizer}, temporary)
    with temporary.open("rb") as stream:
        os.fsync(stream.fileno())
    temporary.replace(folder / NAME)


def read(folder: Path, digest: str) -> tuple[State, Weights, dict[str, Any]] | None:
    """The checkpoint in `folder`, None when there is none; UserError when it is of another configuration."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        state = State(**stored["state"])
    except Exception as error:  # torch raises many kinds for a damaged file
        raise UserError(f"the checkpoint cannot be read ({type(error).__name__})", str(path), "remove it") from error
    if stored["digest"] != digest:
        raise UserError(
            "an unfinished training with another configuration lies here",
            str(folder),
            "restore that configuration, remove the folder, or choose another --out",
        )
    state.validation = [(int(step), float(loss)) for step, loss in state.validation]
    return state, stored["weights"], stored["optimizer"]
