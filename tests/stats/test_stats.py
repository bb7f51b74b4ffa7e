"""Statistics against published worked examples and independent implementations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from toolkit import stats


@pytest.mark.parametrize("k,n", [(0, 10), (10, 10), (1, 33), (63, 126), (199, 200), (81, 263), (0, 1)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_wilson_agrees_with_scipy(k: int, n: int, level: float) -> None:
    theirs = scipy_stats.binomtest(k, n).proportion_ci(level, method="wilson")
    assert stats.wilson(k, n, level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_worked_example() -> None:
    """Newcombe 1998 (Statist. Med. 17, 857-872), Table I, method 3."""
    assert stats.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert stats.wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert stats.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert stats.wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


@pytest.mark.parametrize(
    "counts,expected",
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((6, 7, 2, 7), (0.0582, 0.8062)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
    ],
)
def test_newcombe_independent_worked_examples(counts: tuple[int, int, int, int], expected: tuple[float, float]) -> None:
    """Newcombe 1998 (Statist. Med. 17, 873-890), Table II, method 10."""
    assert stats.newcombe(*counts) == pytest.approx(expected, abs=5e-5)


def test_newcombe_paired_reduces_to_independent_without_correlation() -> None:
    both, first, second, neither = 12, 28, 18, 42  # exactly independent margins: 40 and 30 of 100
    assert stats.newcombe_paired(both, first, second, neither) == pytest.approx(stats.newcombe(40, 100, 30, 100))


def test_newcombe_paired_is_antisymmetric_and_tightens_with_agreement() -> None:
    there, back = stats.newcombe_paired(40, 10, 4, 46), stats.newcombe_paired(40, 4, 10, 46)
    assert there == pytest.approx((-back.high, -back.low))
    independent = stats.newcombe(50, 100, 44, 100)
    assert there.high - there.low < independent.high - independent.low


def test_newcombe_paired_covers() -> None:
    """Coverage by enumeration over all paired tables of n = 12 for one true distribution."""
    p = (0.5, 0.2, 0.1, 0.2)
    covered = 0.0
    for a, b, c in product(range(13), repeat=3):
        d = 12 - a - b - c
        if d >= 0 and 0.1 in stats.newcombe_paired(a, b, c, d):
            covered += scipy_stats.multinomial.pmf([a, b, c, d], 12, p)
    assert 0.94 < covered < 0.99


def test_paired_worked_example() -> None:
    """Armitage, Berry 1994, p. 127 (sputum cultures), with the limits that StatsDirect prints for it."""
    assert stats.newcombe_paired(20, 12, 2, 16) == pytest.approx((0.056156, 0.329207), abs=5e-7)
    assert stats.mcnemar(12, 2) == pytest.approx(0.0129, abs=5e-5)


@pytest.mark.parametrize("b,c", [(0, 0), (1, 0), (5, 5), (3, 12), (150, 86), (0, 10)])
def test_mcnemar_is_the_binomial_test(b: int, c: int) -> None:
    expected = scipy_stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert stats.mcnemar(b, c) == pytest.approx(expected, rel=1e-12)


def test_fisher_lady_tasting_tea() -> None:
    """Fisher 1935: 3 of 4 cups right; two-sided p = 34/70."""
    assert stats.fisher(3, 4, 1, 4) == pytest.approx(float(Fraction(34, 70)))
    assert stats.fisher(4, 4, 0, 4) == pytest.approx(float(Fraction(2, 70)))


def test_benjamini_hochberg_worked_example() -> None:
    """Benjamini, Hochberg 1995, section 3.2: 15 p values, the first four are significant at q = 0.05."""
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.324,
        0.4262,
        0.5719,
        0.6528,
        0.759,
        1,
    ]
    shuffled = [p[i] for i in (7, 3, 0, 14, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13)]
    adjusted = stats.benjamini_hochberg(shuffled)
    assert sorted(x for x, a in zip(shuffled, adjusted, strict=True) if a is not None and a <= 0.05) == p[:4]
    assert adjusted == pytest.approx(list(scipy_stats.false_discovery_control(shuffled)))


def test_benjamini_hochberg_leaves_untested_cells_out() -> None:
    assert stats.benjamini_hochberg([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert stats.benjamini_hochberg([None]) == [None]


def test_spearman() -> None:
    """The IQ against hours of television example of many textbooks: rho = -29/165."""
    iq = [106, 86, 100, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 0, 27, 50, 28, 29, 20, 12, 6, 17]
    assert stats.spearman(iq, hours) == pytest.approx(-29 / 165)
    assert stats.spearman([1, 1, 1], [1, 2, 3]) is None
    assert stats.spearman([1, 2], [1, 2]) is None


def test_bootstrap_of_single_sample_clusters_agrees_with_wilson() -> None:
    successes = [i % 4 != 0 for i in range(400)]
    interval = stats.cluster_bootstrap(successes, range(400))
    assert interval is not None
    assert interval == pytest.approx(stats.wilson(300, 400), abs=0.006)


def test_bootstrap_widens_when_clusters_move_together() -> None:
    successes = [i % 20 < 10 for i in range(400)]
    alone = stats.cluster_bootstrap(successes, range(400))
    together = stats.cluster_bootstrap(successes, [i % 20 for i in range(400)])
    assert alone is not None and together is not None
    # 20 clusters that are all right or all wrong: the standard error grows by sqrt(20)
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(20**0.5, rel=0.1)


def test_bootstrap_is_seeded_and_needs_two_clusters() -> None:
    data = [True, False, True, True, False, True]
    assert stats.cluster_bootstrap(data, [1, 1, 2, 2, 3, 3]) == stats.cluster_bootstrap(data, [1, 1, 2, 2, 3, 3])
    assert stats.cluster_bootstrap(data, [1] * 6) is None


def test_bootstrap_gap_agrees_with_scipy_on_independent_groups() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random(150) < 0.8, rng.random(150) < 0.5
    gap = stats.cluster_bootstrap_gap([*first, *second], [True] * 150 + [False] * 150, [*range(150), *range(150)])
    assert gap is not None
    theirs = scipy_stats.bootstrap(
        (first.astype(float), second.astype(float)),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        paired=True,
        method="percentile",
        n_resamples=2000,
        rng=5,
    ).confidence_interval
    assert gap == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert stats.cluster_bootstrap_gap([True, False], [True, True], [0, 1]) is None


def test_planning_table() -> None:
    """The planning table of the research notes: half-widths at 0.5 and 1.0, detectable difference at 0.5."""
    for n, middle, end, difference in [(50, 13.4, 3.6, 28), (200, 6.9, 0.9, 14), (400, 4.9, 0.5, 9.9)]:
        assert 100 * stats.half_width(n) == pytest.approx(middle, abs=0.06)
        assert 100 * stats.half_width(n, 1.0) == pytest.approx(end, abs=0.06)
        assert 100 * stats.detectable_difference(n) == pytest.approx(difference, abs=0.06)


def test_detectable_difference_has_the_stated_power() -> None:
    n, rng = 300, np.random.default_rng(0)
    gap = stats.detectable_difference(n)
    a, b = rng.binomial(n, 0.5 + gap / 2, 4000), rng.binomial(n, 0.5 - gap / 2, 4000)
    pooled = (a + b) / (2 * n)
    z = (a - b) / n / np.sqrt(2 * pooled * (1 - pooled) / n)
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.03)


def test_bad_counts_are_refused() -> None:
    for k, n in [(1, 0), (-1, 5), (6, 5)]:
        with pytest.raises(ValueError, match="successes"):
            stats.wilson(k, n)
    with pytest.raises(ValueError, match="level"):
        stats.wilson(1, 2, 1.0)
    with pytest.raises(ValueError, match="discordant"):
        stats.mcnemar(-1, 2)
