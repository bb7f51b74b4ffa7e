"""samples.parquet: every field of every sample, readable by `datasets` and by pyarrow."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import synthetic

from experiments.records import read_samples
from experiments.report import parquet


def test_rows_equal_the_samples(reported: Path) -> None:
    rows = pq.read_table(reported / "samples.parquet").to_pylist()
    for row, sample in zip(rows, read_samples(reported), strict=True):
        assert row["ids"] == sample["ids"] and row["text"] == sample["text"] and row["seed"] == sample["seed"]
        assert row["scores"] == sample["scores"] and row["calls"] == sample["calls"]
        assert json.loads(row["extra"]) == {"expect": sample["expect"]}
        assert row["called"] == sample.get("called")


def test_more_or_fewer_rows_are_found(tmp_path: Path) -> None:
    made = list(synthetic.samples(1, shots=(0,)))
    path = tmp_path / "x.parquet"
    parquet.write(path, made, ["call", "paper", "strict"])
    assert parquet.first_difference(path, made, ["call", "paper", "strict"]) is None
    assert "more rows" in str(parquet.first_difference(path, made[:-1], ["call", "paper", "strict"]))
    assert "fewer rows" in str(parquet.first_difference(path, [*made, made[0]], ["call", "paper", "strict"]))
    assert "columns" in str(parquet.first_difference(path, made, ["strict"]))


@pytest.mark.slow
def test_datasets_loads_it(reported: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    data = load_dataset(
        "parquet", data_files=str(reported / "samples.parquet"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(data) == 432
    assert data[0]["scores"].keys() == {"call", "paper", "strict"}
