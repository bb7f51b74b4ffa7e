"""A synthetic run folder, written by the real writer, with its report made once for all tests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from experiments.report.commands import report

sys.path.insert(0, str(Path(__file__).parent))
from synthetic import SHOTS, samples, write_run


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its report. Read only: tests that change something copy it (see `run`)."""
    folder = write_run(tmp_path_factory.mktemp("runs") / "made", samples(12, shots=SHOTS))
    report(folder)
    return folder


@pytest.fixture
def run(reported: Path, tmp_path: Path) -> Path:
    """A copy of the reported run that a test may damage."""
    return Path(shutil.copytree(reported, tmp_path / "run"))
