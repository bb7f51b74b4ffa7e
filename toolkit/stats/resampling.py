"""Seeded cluster bootstrap: samples that share a trial or a shot order are not independent and move together.

Works on arrays of successes and cluster labels; knows nothing of what a cluster stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from toolkit.stats.proportions import Interval

REPLICATES = 2000
Floats = npt.NDArray[np.float64]


def cluster_bootstrap(
    successes: Sequence[bool],
    clusters: Sequence[int],
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Interval | None:
    """Percentile interval of the mean of `successes` when whole clusters are drawn with replacement.

    None below two clusters. Source: Davison, Hinkley, Bootstrap Methods and their Application (1997), section 3.8
    (strategy 1: resample clusters, keep each whole); clustered errors in evaluations: Miller, arXiv 2411.00640.
    """
    values = np.asarray(successes, dtype=np.float64)
    labels, count = _labels(clusters)
    if count < 2:
        return None
    drawn = _draw(count, seed, replicates)
    sums = drawn @ np.bincount(labels, values, count)
    sizes = drawn @ np.bincount(labels, minlength=count).astype(np.float64)
    return _percentiles(sums / sizes, level)


def cluster_bootstrap_gap(
    successes: Sequence[bool],
    in_first: Sequence[bool],
    clusters: Sequence[int],
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Interval | None:
    """Percentile interval of mean(first group) - mean(second group); a cluster carries its samples of both groups.

    None below two clusters or when a group is empty. Replicates that drew no sample of a group are left out.
    """
    values, first = np.asarray(successes, dtype=np.float64), np.asarray(in_first, dtype=np.float64)
    labels, count = _labels(clusters)
    if count < 2 or first.sum() in (0, len(first)):
        return None
    drawn = _draw(count, seed, replicates)

    def mean(weights: Floats) -> Floats:
        sizes = drawn @ np.bincount(labels, weights, count)
        sums = drawn @ np.bincount(labels, weights * values, count)
        means: Floats = np.divide(sums, sizes, out=np.full(replicates, np.nan), where=sizes > 0)
        return means

    gaps = mean(first) - mean(1 - first)
    return _percentiles(gaps[~np.isnan(gaps)], level)


def _labels(clusters: Sequence[int]) -> tuple[npt.NDArray[np.intp], int]:
    """Cluster labels as 0..count-1, and the count."""
    names, labels = np.unique(np.asarray(clusters), return_inverse=True)
    return labels, len(names)


def _draw(count: int, seed: int, replicates: int) -> Floats:
    """How often each cluster is drawn, shape (replicates, count).

    RandomState, because its stream is frozen across numpy versions: `verify` must get the same digits years later.
    """
    drawn: Floats = np.random.RandomState(seed).multinomial(count, [1 / count] * count, replicates).astype(np.float64)
    return drawn


def _percentiles(values: Floats, level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
