"""The three tools of the published experiment, MATH, DATE and SEARCH, ready for a toolbox."""

from __future__ import annotations

import datetime

from toolkit.tools.arithmetic import Arithmetic
from toolkit.tools.clock import Clock
from toolkit.tools.lookup import Lookup
from toolkit.tools.outcome import Tool


def builtin(today: datetime.date | None = None) -> dict[str, Tool]:
    """The built-in tools by API name. `today` fixes what DATE answers."""
    tools: tuple[Tool, ...] = (Arithmetic(), Clock(today), Lookup())
    return {tool.name: tool for tool in tools}
