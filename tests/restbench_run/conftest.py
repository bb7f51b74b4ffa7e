"""RestBench's files, a small configuration, and a way to run it; lets these tests import the helper beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import base
from experiments.engine import Done, run
from experiments.restbench.config import RestBenchConfig
from experiments.restbench.experiment import RestBench

sys.path.insert(0, str(Path(__file__).parent))


class Watch:
    """Hears and says nothing."""

    def begin(self, total: int, done: int, items: Any) -> None: ...
    def answered(self, item_id: str) -> None: ...
    def saved(self, samples: Any) -> None: ...


@pytest.fixture
def folder(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """RestBench's files, also where the environment says that they are."""
    found = shared_data / "restbench"
    monkeypatch.setenv("RESTBENCH_DIR", str(found))
    return found


@pytest.fixture
def typed() -> dict[str, Any]:
    """A configuration as typed."""
    return {
        "experiment": "restbench",
        "models": [{"name": "oracle", "model": "oracle"}],
        "tasks": {"tmdb": [16, 5], "spotify": [44, 3]},
    }


@pytest.fixture
def play(folder: Path) -> Callable[..., Done]:
    """play(typed, out, open_model=..., limit=...) runs a configuration."""

    def started(typed: dict[str, Any], out: Path, open_model: Any = None, limit: int | None = None) -> Done:
        config = RestBenchConfig.model_validate(typed)
        experiment = RestBench(config, folder, open_model) if open_model else RestBench(config, folder)
        return run(experiment, base.Source(out / "small.yaml", typed), out, Watch(), limit)

    return started
