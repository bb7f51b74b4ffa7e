"""Writes a benchmark's table into its section of scripts/bench/README.md, and nothing else of that page."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("README.md")


def write_section(name: str, text: str) -> None:
    """Replace what stands between `<!-- NAME -->` and `<!-- end NAME -->`."""
    begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    page = PAGE.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{PAGE}: the section {name} is missing")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", page))
