from __future__ import annotations

from pathlib import Path

import pytest

CONFIG = """\
experiment: operators
models:
  - {name: tiny, path: /nowhere/at/all}
variants: [strict-arrow, paper-equals-t0.9]
shots: [0, 2]
skills: ["+", "-"]
trials: 6
orders: 3
seed: 5
slots: 4
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path
