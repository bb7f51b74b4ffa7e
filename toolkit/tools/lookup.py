"""The SEARCH tool: a table of known queries. What it does not know is an error Outcome, never a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolkit.tools.outcome import Outcome, Turn

POPULATION = "7.888 billion (2021)"
PUBLISHED = {"earth population": POPULATION, "world population": POPULATION}  # operator transfer, section 4


@dataclass(frozen=True)
class Lookup:
    """The SEARCH tool. Keys of `table` are lower case; a query is compared in lower case, its blanks collapsed."""

    table: Mapping[str, str] = field(default_factory=lambda: PUBLISHED)
    name: str = "SEARCH"
    inline: bool = True

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """The entry for the query."""
        found = self.table.get(" ".join(arguments.lower().split()))
        return Outcome("error", "nothing found") if found is None else Outcome("ok", found)
