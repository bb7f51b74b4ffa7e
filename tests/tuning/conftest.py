from __future__ import annotations

from pathlib import Path

import pytest
from tiny import tiny_folder
from tuning.tiny_tuning import FAMILIES, Curve, settings

from toolkit.tuning.tune import tune


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny model folders by family."""
    root = tmp_path_factory.mktemp("bases")
    return {family: tiny_folder(root / family, family) for family in FAMILIES}


class Trained(dict[tuple[str, str], Path]):
    """Adapter folders by (family, method), each trained when it is first asked for."""

    def __init__(self, bases: dict[str, Path], root: Path) -> None:
        self.bases, self.root = bases, root

    def __missing__(self, key: tuple[str, str]) -> Path:
        family, method = key
        out = self[key] = self.root / f"{family}-{method}"
        tune(settings(self.bases[family], method), out, self.root, Curve())
        return out


@pytest.fixture(scope="session")
def adapters(bases: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trained adapters by (family, method)."""
    return Trained(bases, tmp_path_factory.mktemp("adapters"))
