"""The committed reference run: small, complete, and every number in it follows from its samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.report.verify import verify

RUN = Path(__file__).resolve().parents[2] / "results" / "reference" / "smollm2"


def test_it_is_small_and_complete() -> None:
    assert sum(path.stat().st_size for path in RUN.rglob("*") if path.is_file()) < 5_000_000
    cells = [cell for matrix in json.loads((RUN / "summary.json").read_text())["matrices"] for cell in matrix["cells"]]
    assert len(cells) == 72 and all(cell["n"] >= 200 for cell in cells)


@pytest.mark.slow
def test_verify() -> None:
    assert len(verify(RUN)) == 7
