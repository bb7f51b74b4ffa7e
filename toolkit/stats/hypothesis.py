"""Tests of difference on counts, the correction for testing many cells, and rank correlation of two matrices.

Small closed forms are written out with exact integers; scipy is imported only where a distribution is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from toolkit.stats.proportions import check_counts


def mcnemar(first_only: int, second_only: int) -> float:
    """Two-sided p of the exact McNemar test, from the items that only one of the two solved.

    Source: Q. McNemar, Psychometrika 12 (1947) 153-157, in its exact (binomial) form. 1.0 when no item differs.
    """
    if min(first_only, second_only) < 0:
        raise ValueError(f"discordant counts are not negative, got {first_only} and {second_only}")
    discordant = first_only + second_only
    tail = sum(comb(discordant, i) for i in range(min(first_only, second_only) + 1))
    return min(1.0, float(2 * tail / 2**discordant))


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """Two-sided p of Fisher's exact test that k1/n1 and k2/n2 share one rate (sum of tables no more likely).

    Source: R. A. Fisher, The Design of Experiments (1935), chapter 2.
    """
    check_counts(k1, n1)
    check_counts(k2, n2)
    from scipy.stats import fisher_exact

    return float(fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values that control the false discovery rate; None (not tested) stays None and does not count.

    Source: Y. Benjamini, Y. Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300.
    """
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    lowest = 1.0
    for rank in range(len(tested), 0, -1):
        p, index = tested[rank - 1]
        lowest = min(lowest, p * len(tested) / rank)
        adjusted[index] = lowest
    return adjusted


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation of paired values (ties take mean ranks); None below three pairs or if one is flat.

    Source: C. Spearman, Am. J. Psychol. 15 (1904) 72-101.
    """
    if len(first) != len(second):
        raise ValueError(f"need pairs, got {len(first)} and {len(second)} values")
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)
