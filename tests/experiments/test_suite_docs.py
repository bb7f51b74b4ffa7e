"""The suites in docs/suites.md load and run as printed."""

from __future__ import annotations

import re
from pathlib import Path

from scripted_engine import Quiet, scripted

from experiments.engine import run
from experiments.suites.load import load_suite

PAGE = Path(__file__).resolve().parents[2] / "docs" / "suites.md"


def test_what_the_page_prints_works(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.S)
    assert [kind for kind, _ in blocks] == ["yaml", "yaml", "python"]
    for name, (_, text) in zip(("capitals.yaml", "capitals_run.yaml", "text.py"), blocks, strict=True):
        (tmp_path / name).write_text(text)
    watch = Quiet()
    run(*scripted(tmp_path / "capitals_run.yaml"), tmp_path / "run", watch)
    assert len(watch.made) == 3 * 3 * 20
    (tmp_path / "capitals_run.yaml").write_text(blocks[1][1].replace("capitals.yaml", "text.py"))
    run(*scripted(tmp_path / "capitals_run.yaml", "design=leave-one-out"), tmp_path / "text", watch)
    assert load_suite(str(tmp_path / "text.py")).names == ("backwards",)
