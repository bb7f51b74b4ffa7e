"""The DATE tool: today's date, or a fixed one so that a run can be repeated."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from toolkit.tools.outcome import Outcome, Turn

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class Clock:
    """The DATE tool. `today` fixes the date; None reads the clock at each call. Arguments are ignored."""

    today: datetime.date | None = None
    name: str = "DATE"
    inline: bool = True

    def run(self, arguments: str = "", history: Sequence[Turn] = ()) -> Outcome:
        """The date, e.g. `Feb 20th, 2023`."""
        return Outcome("ok", written(self.today or datetime.date.today()))


def written(date: datetime.date) -> str:
    """The date as the published fragments write it, in English whatever the locale: `Feb 20th, 2023`."""
    suffix = "th" if 11 <= date.day <= 13 else SUFFIXES.get(date.day % 10, "th")
    return f"{MONTHS[date.month - 1]} {date.day}{suffix}, {date.year}"
