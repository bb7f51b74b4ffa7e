"""Confidence intervals for one proportion and for the difference of two, all built on Wilson's score interval.

Closed forms on counts; needs neither numpy nor scipy, so that `plan` and `--help` stay fast.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A two-sided interval; proportions and differences of proportions are fractions, not percent."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        """Whether a number lies in the closed interval."""
        return isinstance(value, (int, float)) and self.low <= value <= self.high


def z_value(level: float) -> float:
    """Two-sided standard normal quantile of a confidence level in (0, 1): 1.96 for 0.95."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies strictly between 0 and 1, got {level}")
    return NormalDist().inv_cdf(0.5 + level / 2)


def check_counts(successes: int, trials: int) -> None:
    """Raise ValueError unless 0 <= successes <= trials and trials > 0."""
    if trials <= 0 or not 0 <= successes <= trials:
        raise ValueError(f"need 0 <= successes <= trials and trials > 0, got {successes}/{trials}")


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for `successes` of `trials`, without continuity correction.

    Source: E. B. Wilson, JASA 22 (1927) 209-212; recommended for small n by Brown, Cai, DasGupta, Statist. Sci. 16
    (2001) 101-133. The end that the estimate touches (0 or 1) is exact.
    """
    check_counts(successes, trials)
    z2 = z_value(level) ** 2
    rate = successes / trials
    centre = (successes + z2 / 2) / (trials + z2)
    half = sqrt(z2 * (rate * (1 - rate) * trials + z2 / 4)) / (trials + z2)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(low, high)


def newcombe(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Interval:
    """Interval for p1 - p2 of two independent proportions: the hybrid score interval (method 10).

    Source: R. G. Newcombe, Statist. Med. 17 (1998) 873-890.
    """
    first, second = wilson(k1, n1, level), wilson(k2, n2, level)
    p1, p2 = k1 / n1, k2 / n2
    return Interval(
        p1 - p2 - sqrt((p1 - first.low) ** 2 + (second.high - p2) ** 2),
        p1 - p2 + sqrt((first.high - p1) ** 2 + (p2 - second.low) ** 2),
    )


def newcombe_paired(both: int, first_only: int, second_only: int, neither: int, level: float = 0.95) -> Interval:
    """Interval for p1 - p2 where both were measured on the same items: the square-and-add interval (method 10).

    The four counts are the paired 2 x 2 table. Source: R. G. Newcombe, Statist. Med. 17 (1998) 2635-2650; the
    correlation estimate is shrunk by n/2 in its numerator when it is positive, as there.
    """
    trials = both + first_only + second_only + neither
    k1, k2 = both + first_only, both + second_only
    one, two = wilson(k1, trials, level), wilson(k2, trials, level)
    p1, p2 = k1 / trials, k2 / trials
    phi = _correlation(both, first_only, second_only, neither)
    down1, up1, down2, up2 = p1 - one.low, one.high - p1, p2 - two.low, two.high - p2
    below = max(0.0, down1**2 - 2 * phi * down1 * up2 + up2**2)
    above = max(0.0, up1**2 - 2 * phi * up1 * down2 + down2**2)
    return Interval(p1 - p2 - sqrt(below), p1 - p2 + sqrt(above))


def _correlation(both: int, first_only: int, second_only: int, neither: int) -> float:
    """Newcombe's corrected phi coefficient of a paired 2 x 2 table; 0 where a margin is empty."""
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if margins == 0:
        return 0.0
    trials = both + first_only + second_only + neither
    numerator = float(both * neither - first_only * second_only)
    if numerator > 0:
        numerator = max(numerator - trials / 2, 0.0)
    return numerator / sqrt(margins)
