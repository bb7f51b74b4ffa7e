"""What a cell of n trials can show: the width of its interval and the difference it can detect. Counts only."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from toolkit.stats.proportions import wilson, z_value


def half_width(trials: int, rate: float = 0.5, level: float = 0.95) -> float:
    """Half the width of Wilson's interval at `rate` (rounded to whole successes), as a fraction."""
    interval = wilson(round(rate * trials), trials, level)
    return (interval.high - interval.low) / 2


def detectable_difference(
    trials: int, rate: float = 0.5, *, discordant: float | None = None, power: float = 0.8, level: float = 0.95
) -> float:
    """Smallest difference of two rates that a two-sided test at 1 - `level` finds with probability `power`.

    Two independent cells of `trials` each near `rate`; or, with `discordant` (the share of items that only one of the
    two solves), the same items asked twice. Normal-theory approximation, capped at 1. Source: Fleiss, Levin, Paik,
    Statistical Methods for Rates and Proportions (3rd ed., 2003), chapter 4; paired: Miller, arXiv 2411.00640.
    """
    if trials <= 0:
        raise ValueError(f"need at least one trial, got {trials}")
    variance = 2 * rate * (1 - rate) if discordant is None else discordant
    return min(1.0, (z_value(level) + NormalDist().inv_cdf(power)) * sqrt(variance / trials))
