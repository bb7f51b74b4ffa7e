from __future__ import annotations

from pathlib import Path

from toolkit.tuning.config import TuneConfig

METHODS = {
    "prompt": {"kind": "prompt", "tokens": 5},
    "prefix": {"kind": "prefix", "tokens": 5},
    "p-tuning": {"kind": "p-tuning", "tokens": 5, "hidden": 16},
    "lora": {"kind": "lora", "rank": 4},
    "full": {"kind": "full"},
}
FAMILIES = ("gpt_neo", "llama")


class Curve:
    """Keeps what a training says; `kill_at` raises there, as a kill would stop it."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.losses: dict[int, float] = {}
        self.checks: dict[int, float] = {}
        self.began_at = 0
        self.kill_at = kill_at

    def begin(self, steps: int, done: int) -> None:
        self.began_at = done

    def step(self, number: int, loss: float) -> None:
        self.losses[number] = loss
        if number == self.kill_at:
            raise KeyboardInterrupt

    def validated(self, number: int, loss: float) -> None:
        self.checks[number] = loss


def settings(folder: Path, method: str, **changes: object) -> TuneConfig:
    """A training of seconds on a tiny model in `folder`."""
    budget = {"steps": 4, "batch": 4, "learning_rate": 0.05, "evaluate_every": 2, **changes.pop("budget", {})}
    data = {"apis": ["MATH"], "first": 2, "exchanges": 30, **changes.pop("data", {})}
    return TuneConfig.model_validate(
        {
            "tune": method,
            "model": {"name": "tiny", "path": str(folder)},
            "method": METHODS[method],
            "data": data,
            "budget": budget,
            "seed": 1,
            **changes,
        }
    )
