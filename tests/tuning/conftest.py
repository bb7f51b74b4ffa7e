from __future__ import annotations

from pathlib import Path

import pytest
from tiny import tiny_folder

from toolkit.tuning.config import TuneConfig
from toolkit.tuning.tune import tune

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


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny model folders by family."""
    root = tmp_path_factory.mktemp("bases")
    return {family: tiny_folder(root / family, family) for family in FAMILIES}


@pytest.fixture(scope="session")
def adapters(bases: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Trained adapters by (family, method)."""
    root = tmp_path_factory.mktemp("adapters")
    made = {}
    for family, folder in bases.items():
        for method in METHODS:
            out = root / f"{family}-{method}"
            tune(settings(folder, method), out, root, Curve())
            made[family, method] = out
    return made
