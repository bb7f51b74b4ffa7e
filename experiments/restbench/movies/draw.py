"""The dice of a world: two independent streams, one for who exists (names, ids), one for what is true of them, and
the small draws that every table needs. A counterfactual world has the same first stream and another second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

from experiments.restbench.movies.world import CLOCK, Credit, Image, Rating

_FIRST = date(1950, 1, 1)
_DAYS = [_FIRST + timedelta(days=at) for at in range((CLOCK - _FIRST).days + 400)]


def span(first: date, last: date) -> list[date]:
    """All days from first to last, within 1950 and a year after the clock."""
    return _DAYS[(first - _FIRST).days : (last - _FIRST).days + 1]


_PAST = span(_FIRST, CLOCK - timedelta(days=60))


@dataclass
class Dice:
    """`names` draws identities, `facts` everything else; the sets keep draws distinct."""

    names: Random
    facts: Random
    taken_ids: set[int] = field(default_factory=set)
    taken_names: set[str] = field(default_factory=set)
    taken_numbers: set[float] = field(default_factory=set)
    taken_days: set[date] = field(default_factory=set)

    @classmethod
    def of(cls, seed: int, counterfactual: bool) -> Dice:
        """The dice of one world."""
        return cls(Random(f"movies/{seed}/names"), Random(f"movies/{seed}/facts/{int(counterfactual)}"))

    def id(self) -> int:
        """An id that no other entity of this world has, in no order."""
        while True:
            drawn = self.names.randrange(1_000, 2_000_000)
            if drawn not in self.taken_ids:
                self.taken_ids.add(drawn)
                return drawn

    def hex_id(self) -> str:
        """A 24-digit hexadecimal id, as credits and reviews have."""
        return f"{self.facts.getrandbits(96):024x}"

    def imdb_id(self, letters: str) -> str:
        """Two letters and seven digits."""
        return f"{letters}{self.facts.randrange(10**6, 10**7)}"

    def day(self, days: Sequence[date]) -> date:
        """One of the days, if possible one that no other work of this kind has (see `taken_days`)."""
        for _ in range(200):
            drawn = self.facts.choice(days)
            if drawn not in self.taken_days:
                break
        else:
            drawn = next((day for day in days if day not in self.taken_days), days[0])
        self.taken_days.add(drawn)
        return drawn

    def past(self) -> date:
        """A day well before the clock."""
        return self.day(_PAST)

    def number(self, low: float, high: float) -> float:
        """A number with three decimals in the range, never whole, drawn once in a world."""
        while True:
            drawn = round(self.facts.uniform(low, high), 3)
            if drawn not in self.taken_numbers and drawn != int(drawn):
                self.taken_numbers.add(drawn)
                return drawn

    def images(self, count: int, width: int, height: int, ending: str = ".jpg") -> tuple[Image, ...]:
        """So many pictures of one size."""
        return tuple(
            Image(
                path=f"/{self.facts.getrandbits(108):027x}{ending}",
                width=width,
                height=height,
                votes=self.facts.randrange(0, 7),
                vote_count=self.facts.randrange(0, 40),
                language=self.facts.choice(("en", "en", "fr", None)),
            )
            for _ in range(count)
        )

    def credit(self, person: int, role: str, department: str = "", order: int = 0) -> Credit:
        """A credit with a fresh id."""
        return Credit(self.hex_id(), person, role, department, order)


@dataclass
class Slot:
    """A film or show that exists but has no facts yet. `famous` decoys stand before what they resemble."""

    id: int
    title: str
    kind: str  # "named", "decoy", "filler"
    rich: bool = True
    famous: bool = False
    crowd: bool = False
    collection: int | None = None
    day: date | None = None


def rating(dice: Dice, slot: Slot) -> Rating:
    """Votes and popularity. Only rich works have votes enough for a chart."""
    facts = dice.facts
    fame: tuple[float, float]
    count = facts.randrange(300, 30_000) if slot.rich else facts.randrange(1, 60)
    if slot.kind == "decoy":
        fame = (90, 160) if slot.famous else (0.6, 4.5)
    elif slot.kind == "named":
        fame = (20, 80)
    elif slot.rich:
        fame = (80, 400) if facts.random() < 0.08 else (5, 80)
    else:
        fame = (0.6, 5)
    return Rating(dice.number(2.0, 9.3), count, dice.number(*fame))


def some(facts: Random, pool: Sequence[int], low: int, high: int) -> tuple[int, ...]:
    """Between `low` and `high` different members of the pool."""
    return tuple(facts.sample(pool, k=min(len(pool), facts.randint(low, high))))
