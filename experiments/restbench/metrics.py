"""Path metrics of RestBench over an HTTP log that has already been mapped to endpoint templates: correct path,
share of gold tools, and delta solution length. It never looks at answers or worlds.

Sources: correct path and delta length are RestGPT's (arXiv 2306.06624, section 4); "share of gold tools" is the
softer Path % of ATC (arXiv 2405.16533) and must not stand in one column with correct path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.restbench.gold import GoldPath
from experiments.restbench.oracle import HttpLog, succeeded


def endpoints(log: HttpLog) -> list[str]:
    """The endpoints (`GET /movie/{movie_id}`) of the successful requests, in order; unrouted ones fall away."""
    return [entry.endpoint for entry in log if entry.endpoint is not None and succeeded(entry)]


def contains(calls: Sequence[str], path: GoldPath) -> bool:
    """Whether the calls contain every step of the path, each at its own place, in an order the path allows.

    For a chain this is the plain subsequence test. Exact: all reachable sets of finished steps are followed, at
    most 2^n for a path of n steps (n is below ten).
    """
    before = path.predecessors()
    everything = (1 << len(path.steps)) - 1
    reached = {0}
    for call in calls:
        for done in list(reached):
            for step, label in enumerate(path.steps):
                bit = 1 << step
                if label == call and not done & bit and before[step] & ~done == 0:
                    reached.add(done | bit)
        if everything in reached:
            return True
    return everything in reached


def correct_path(calls: Sequence[str], paths: Iterable[GoldPath]) -> bool:
    """Whether the calls contain at least one acceptable path."""
    return any(contains(calls, path) for path in paths)


def tool_share(calls: Sequence[str], paths: Iterable[GoldPath]) -> float:
    """ATC's Path %: the share (0 to 1) of a gold path's distinct endpoints that were called; best over the paths."""
    called = set(calls)
    return max(len(called & set(path.steps)) / len(set(path.steps)) for path in paths)


def delta_length(calls: int, made: Sequence[str], paths: Sequence[GoldPath]) -> int:
    """Requests beyond the gold length; meaningful for successful episodes only.

    `calls` counts every request of the episode, failed ones too; `made` are its successful endpoints. The gold
    length is that of the longest acceptable path the episode contains, else of the shortest acceptable path.
    """
    contained = [len(path.steps) for path in paths if contains(made, path)]
    return calls - (max(contained) if contained else min(len(path.steps) for path in paths))
