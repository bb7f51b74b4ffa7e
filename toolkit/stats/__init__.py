"""Statistics for success counts: intervals, tests, resampling and planning.

Cells hold tens to hundreds of trials and are often at 0 or 100 %, so nothing here uses the normal approximation to a
proportion. Functions take counts, not samples or files, and know nothing of experiments.
"""

from toolkit.stats.hypothesis import benjamini_hochberg, fisher, mcnemar, spearman
from toolkit.stats.planning import detectable_difference, half_width
from toolkit.stats.proportions import Interval, newcombe, newcombe_paired, wilson
from toolkit.stats.resampling import cluster_bootstrap, cluster_bootstrap_gap

__all__ = [
    "Interval",
    "benjamini_hochberg",
    "cluster_bootstrap",
    "cluster_bootstrap_gap",
    "detectable_difference",
    "fisher",
    "half_width",
    "mcnemar",
    "newcombe",
    "newcombe_paired",
    "spearman",
    "wilson",
]
