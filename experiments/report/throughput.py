"""How fast a run went: samples and reply tokens per second of each (model, variant), from the timings.

Timings are facts about a machine; they are kept apart from samples and may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.report.tally import Tally

Json = dict[str, Any]


def throughput(timings: Iterable[Mapping[str, Any]], tally: Tally) -> list[Json]:
    """One entry per (model, variant) that has timed samples; `seconds` of a timing is the sample's share of the run."""
    totals: dict[tuple[str, str], tuple[int, int, float]] = {}
    for timing in timings:
        known, seconds = tally.tokens.get(timing["id"]), timing.get("seconds")
        if known is None or seconds is None:
            continue
        samples, tokens, spent = totals.get(known[:2], (0, 0, 0.0))
        totals[known[:2]] = (samples + 1, tokens + known[2], spent + seconds)
    return [
        {
            "model": model,
            "variant": variant,
            "samples": samples,
            "seconds": round(spent, 3),
            "samples_per_second": round(samples / spent, 3) if spent else None,
            "tokens_per_second": round(tokens / spent, 3) if spent and tokens else None,
        }
        for (model, variant), (samples, tokens, spent) in sorted(totals.items())
    ]
