"""The published tables: complete, internally consistent, and found by the names a user types."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments import published
from toolkit.errors import UserError

DENOMINATORS = {
    "gpt-neo-1.3b/arrow": 33,
    "gpt-neo-1.3b/equals": 33,
    "gpt-neo-125m/arrow": 126,
    "gpt-neo-125m/equals": 125,
    "gpt-neo-2.7b/arrow": 64,
}


def test_every_table_has_all_36_cells_and_its_denominator() -> None:
    assert published.names() == sorted(DENOMINATORS)
    for name, n in DENOMINATORS.items():
        cells = published.load(f"published:{name}").cells
        assert set(cells) == {(skill, shots) for skill in "+*^&-|" for shots in range(6)}
        assert {cell.n for cell in cells.values()} == {n}


def test_counts_print_as_published() -> None:
    for name in published.names():
        for cell in published.load(name).cells.values():
            digits = len(cell.percent.partition(".")[2])
            assert abs(100 * cell.k / cell.n - float(cell.percent)) <= 0.5 * 10**-digits + 1e-9


def test_tables_agree_with_the_research_notes(shared_data: Path) -> None:
    for syntax in ("arrow", "equals"):
        for row in csv.DictReader((shared_data / "published" / f"operators_{syntax}.csv").open()):
            cell = published.load(f"{published.slug(row['model'])}/{syntax}").cells[row["operator"], int(row["shots"])]
            assert (cell.percent, cell.k, cell.n) == (row["accuracy_percent"], int(row["k"]), int(row["trials"]))


def test_names_are_found_and_mistakes_are_explained() -> None:
    table = published.find("EleutherAI/gpt-neo-1.3B", "paper-equals-t0.9")
    assert table is not None and table.name == "gpt-neo-1.3b/equals"
    assert published.find("SmolLM2-135M", "paper-arrow") is None
    assert published.find("gpt-neo-2.7B", "paper-equals") is None
    for wrong in ("published:gpt-neo-125m", "published:../../etc/passwd", "published:gpt-neo-125m/arrow.csv"):
        with pytest.raises(UserError, match=r"choose one of gpt-neo-1\.3b/arrow"):
            published.load(wrong)
