"""A synthetic run folder, written by the real writer, with its report made once for all tests."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from experiments.records import RunWriter, write_header
from experiments.report.commands import report
from toolkit.plugins.fragment import Fragment, Segment

sys.path.insert(0, str(Path(__file__).parent))
import synthetic

SHOTS = (0, 1, 3)  # few panels: drawing them is what takes time
HEADER = {
    "experiment": "operators",
    "config": {"typed": {"trials": 12}, "resolved": {"trials": 12}},
    "report": {
        "title": "Held-out operators <b>synthetic</b>",
        "axes": {"rows": "operator", "columns": "shots"},
        "models": ["gpt-neo-125m", "toy-60M"],
        "skills": list(synthetic.SKILLS),
        "deviations": ["Synthetic replies, not a model's: <script>alert(1)</script>"],
    },
    "models": {"toy-60M": {"sha256": "0" * 64}},
    "sessions": [{"started": "2026-01-01T00:00:00Z", "command": "test", "commit": None, "dirty": True}],
}


def write_run(folder: Path, samples: Iterable[dict[str, Any]], header: dict[str, Any] = HEADER) -> Path:
    """A run folder with these samples; prefixes are real fragments, timings say 0.1 s each."""
    with RunWriter(folder) as writer:
        fragments: dict[tuple[int, int], Fragment] = {}
        batch = []
        for sample in samples:
            key = (sample["shots"], sample["order"])
            fragment = fragments.setdefault(key, Fragment((Segment("user", f"<Guest> {key}?\n<AI>"),)))
            batch.append({**sample, "prefix": fragment.digest})
        writer.write_prefixes((fragment,) for fragment in fragments.values())
        writer.write("all", batch, ({"id": sample["id"], "seconds": 0.1} for sample in batch))
    write_header(folder, header)
    return folder


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its report. Read only: tests that change something copy it (see `run`)."""
    folder = write_run(tmp_path_factory.mktemp("runs") / "made", synthetic.samples(12, shots=SHOTS))
    report(folder)
    return folder


@pytest.fixture
def run(reported: Path, tmp_path: Path) -> Path:
    """A copy of the reported run that a test may damage."""
    return Path(shutil.copytree(reported, tmp_path / "run"))
