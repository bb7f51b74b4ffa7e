"""What a decode step costs by the number of tokens it feeds, and so where drafting tokens ahead can pay.

    python -m scripts.bench.step_cost

A draft of k tokens turns a row's one token per step into 1 + k. It can pay only while a step's time hardly grows with
the tokens fed. Writes its table to scripts/bench/README.md.
"""

from __future__ import annotations

import statistics
import time

from scripts.bench.page import write_section
from scripts.bench.workload import Workload, machine
from toolkit.decoding.step import Feed

ROWS = (1, 8, 32, 128)
WIDTHS = (1, 2, 4)
REPETITIONS = 7


def step_seconds(work: Workload, rows: int, width: int) -> float:
    """Median seconds of a step of `rows` rows, 40 tokens after the fragment, that feed `width` tokens each."""
    engine = work.interceptor(rows).engine
    prefix = engine.prefix(work.fragment_ids)
    engine.forward([Feed(slot, 0, work.fragment_ids[:40], prefix, True) for slot in range(rows)])
    times = []
    for _ in range(REPETITIONS):
        feeds = [Feed(slot, 40, work.fragment_ids[:width], prefix, True) for slot in range(rows)]
        begun = time.perf_counter()
        engine.forward(feeds)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def main() -> None:
    """Measure and write the table."""
    work = Workload(shots=5, count=6)
    facts = machine()
    lines = [
        f"{facts['processor']}; torch {facts['torch']}; medians of {REPETITIONS} steps.",
        "",
        "| rows | " + " | ".join(f"{width} token(s) a row, ms" for width in WIDTHS) + " | kept of 4 to break even |",
        "|---|" + "---|" * (len(WIDTHS) + 1),
    ]
    for rows in ROWS:
        seconds = [step_seconds(work, rows, width) for width in WIDTHS]
        cells = " | ".join(f"{1000 * value:.0f}" for value in seconds)
        lines.append(f"| {rows} | {cells} | {seconds[-1] / seconds[0]:.2f} |")
    text = "\n".join(lines)
    print(text)
    write_section("step cost", text)


if __name__ == "__main__":
    main()
