"""The calendar suite: weekdays, days between dates, dates before and after. An example of a suite written in Python.

One API, CAL, takes five forms of argument, one per skill; held out means that its form was never shown. The truth comes
from the standard library, the tool reads what the model wrote. Knows nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random

from experiments.suites.suite import Exchange, Question, Suite
from toolkit.tools.clock import Clock
from toolkit.tools.outcome import Outcome, Tool, Turn

FIRST, LAST = date(2000, 1, 1), date(2030, 12, 31)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DATE = r"(\d{4}-\d{2}-\d{2})"
Compute = Callable[..., str]


def _weekday(day: date) -> str:
    return DAYS[day.weekday()]


def _between(later: date, earlier: date) -> str:
    return str((later - earlier).days)


def _after(day: date, days: int) -> str:
    return (day + timedelta(days)).isoformat()


def _before(day: date, days: int) -> str:
    return (day - timedelta(days)).isoformat()


def _day_of_year(day: date) -> str:
    return str(day.timetuple().tm_yday)


@dataclass(frozen=True)
class CalendarSkill:
    """One form of argument. `form` has a group per value, `write` has a place per value, `compute` gives the truth."""

    name: str
    example: Exchange
    question: str
    write: str
    form: str
    compute: Compute
    api: str = "CAL"

    def ask(self, rng: Random) -> Question:
        """Two dates and a number of days are drawn for every skill, so that skills share them in a trial."""
        span = (LAST - FIRST).days
        one, other = sorted(FIRST + timedelta(rng.randrange(span)) for _ in range(2))
        values = {"day": one, "later": other, "days": rng.randint(1, 100)}
        arguments = self.write.format(**values)
        return Question(self.question.format(**values), arguments, self.value(arguments) or "")

    def read(self, arguments: str) -> str | None:
        """The arguments with single blanks, when they have this form."""
        text = " ".join(arguments.split())
        return text if re.fullmatch(self.form, text) else None

    def value(self, arguments: str) -> str | None:
        """The result of well-formed arguments, None for others; ValueError or OverflowError for no such date."""
        match = re.fullmatch(self.form, " ".join(arguments.split()))
        if match is None:
            return None
        return self.compute(*(int(part) if part.isdigit() else date.fromisoformat(part) for part in match.groups()))


SKILLS = (
    CalendarSkill(
        "weekday",
        ("What day of the week is 2023-02-20?", "2023-02-20 is a [CAL(weekday 2023-02-20) -> Monday] Monday."),
        "What day of the week is {day}?",
        "weekday {day}",
        f"weekday {DATE}",
        _weekday,
    ),
    CalendarSkill(
        "between",
        (
            "How many days are there from 2023-02-20 to 2023-03-06?",
            "From 2023-02-20 to 2023-03-06 there are [CAL(2023-03-06 - 2023-02-20) -> 14] 14.",
        ),
        "How many days are there from {day} to {later}?",
        "{later} - {day}",
        f"{DATE} - {DATE}",
        _between,
    ),
    CalendarSkill(
        "after",
        (
            "What date is 45 days after 2023-02-20?",
            "45 days after 2023-02-20 is [CAL(2023-02-20 + 45) -> 2023-04-06] 2023-04-06.",
        ),
        "What date is {days} days after {day}?",
        "{day} + {days}",
        rf"{DATE} \+ (\d{{1,6}})",
        _after,
    ),
    CalendarSkill(
        "before",
        (
            "What date is 45 days before 2023-02-20?",
            "45 days before 2023-02-20 is [CAL(2023-02-20 - 45) -> 2023-01-06] 2023-01-06.",
        ),
        "What date is {days} days before {day}?",
        "{day} - {days}",
        rf"{DATE} - (\d{{1,6}})",
        _before,
    ),
    CalendarSkill(
        "day-of-year",
        (
            "Which day of its year is 2023-02-20?",
            "2023-02-20 is day [CAL(day 2023-02-20) -> 51] 51.",
        ),
        "Which day of its year is {day}?",
        "day {day}",
        f"day {DATE}",
        _day_of_year,
    ),
)


@dataclass(frozen=True)
class Calendar:
    """The CAL tool: any of the forms above."""

    name: str = "CAL"
    inline: bool = True

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """What the form computes, or an error (which must not show a form that may be held out)."""
        try:
            found = next((value for skill in SKILLS if (value := skill.value(arguments)) is not None), None)
        except (ValueError, OverflowError):
            return Outcome("error", "there is no such date")
        return Outcome("error", "not understood") if found is None else Outcome("ok", found)


TOOLS: dict[str, Tool] = {"CAL": Calendar(), "DATE": Clock(today=date(2023, 2, 20))}
SUITE = Suite(
    name="calendar",
    skills=SKILLS,
    tools=TOOLS,
    introduction=("weekday", "between", "after", "before"),  # day-of-year is held out throughout
    controls=(
        ("What are you?", "I'm a science project."),
        ("What day is it?", "Today's date is [DATE() -> Feb 20th, 2023] February 20th, 2023."),
    ),
    source=Path(__file__).read_text(encoding="utf-8"),
)
