"""An archived run: gzipped lines are read as any others, damage is an error, and nothing is written to it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from experiments import records
from toolkit.errors import UserError


def written(folder: Path) -> Path:
    """A run of two samples."""
    record: dict[str, Any] = {key: "" if shape is str else 0 for key, shape in records.SAMPLE.items()}
    record |= {"held_out": True, "expect": {}, "ids": [], "calls": [], "scores": {}, "answer": None}
    with records.RunWriter(folder) as writer:
        samples: Any = [record | {"id": name} for name in ("a", "b")]
        writer.write("m.v", samples, [{"id": name, "seconds": 1.0} for name in ("a", "b")])
    return folder


def archive(folder: Path) -> Path:
    """Gzip the sample and timing files of a run."""
    for path in [*(folder / "samples").glob("*.jsonl"), *(folder / "timings").glob("*.jsonl")]:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    return folder


def test_reads_the_same(tmp_path: Path) -> None:
    folder = written(tmp_path)
    samples, timings = list(records.read_samples(folder)), list(records.read_timings(folder))
    assert samples and list(records.read_samples(archive(folder))) == samples
    assert list(records.read_timings(folder)) == timings


def test_damage_is_an_error_and_writing_is_refused(tmp_path: Path) -> None:
    folder = archive(written(tmp_path))
    with pytest.raises(UserError, match=r"archived.*gunzip"), records.RunWriter(folder):
        pass
    (path,) = records.sample_files(folder)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(UserError, match="cannot be read"):
        list(records.read_samples(folder))
