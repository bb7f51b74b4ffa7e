from __future__ import annotations

from pathlib import Path

import pytest
from tiny import tiny_folder
from tuning.tiny_tuning import FAMILIES, METHODS, Curve, settings

from toolkit.tuning.tune import tune


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
