"""The difference of two cells: paired when both asked the same questions in the same trials, else independent.

Used between shots, between model sizes and between runs, so that one rule decides how cells are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.report.tally import Cell
from toolkit import stats


@dataclass(frozen=True)
class Contrast:
    """`k1/n1 - k2/n2` with a 95 % interval, the exact test that fits the design, and its two-sided p."""

    k1: int
    n1: int
    k2: int
    n2: int
    low: float
    high: float
    test: str
    p: float

    @property
    def difference(self) -> float:
        """Difference of the two rates, a fraction."""
        return self.k1 / self.n1 - self.k2 / self.n2


def contrast(first: Cell, second: Cell) -> Contrast | None:
    """Compare two cells; None when either has no verdict."""
    common = sorted(first.trials.keys() & second.trials.keys())
    if common and all(first.trials[t].question == second.trials[t].question for t in common):
        pairs = [(first.trials[t].passed, second.trials[t].passed) for t in common]
        return paired([(a, b) for a, b in pairs if a is not None and b is not None])
    return independent(*first.counts, *second.counts)


def paired(pairs: list[tuple[bool, bool]]) -> Contrast | None:
    """Exact McNemar test and Newcombe's paired interval over items that both sides answered."""
    if not pairs:
        return None
    both = sum(a and b for a, b in pairs)
    first_only = sum(a and not b for a, b in pairs)
    second_only = sum(b and not a for a, b in pairs)
    interval = stats.newcombe_paired(both, first_only, second_only, len(pairs) - both - first_only - second_only)
    p = stats.mcnemar(first_only, second_only)
    return Contrast(both + first_only, len(pairs), both + second_only, len(pairs), *interval, "mcnemar", p)


def independent(k1: int, n1: int, k2: int, n2: int) -> Contrast | None:
    """Fisher's exact test and Newcombe's interval for two independent counts."""
    if not n1 or not n2:
        return None
    return Contrast(k1, n1, k2, n2, *stats.newcombe(k1, n1, k2, n2), "fisher", stats.fisher(k1, n1, k2, n2))
