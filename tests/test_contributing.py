"""The Python blocks of CONTRIBUTING.md run, so that the guide cannot rot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"
BLOCKS = re.findall(r"^## ([^\n]+)$(?:(?!^## ).)*?^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)


def test_the_guide_has_its_blocks() -> None:
    assert [title for title, _ in BLOCKS] == ["Add a tool", "Add a syntax", "Add a model"]


@pytest.mark.parametrize("block", [pytest.param(code, id=title) for title, code in BLOCKS])
def test_a_block_of_the_guide_runs(block: str) -> None:
    exec(compile(block, str(GUIDE), "exec", dont_inherit=True), {"__name__": __name__})
