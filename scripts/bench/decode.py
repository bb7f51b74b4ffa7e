"""Questions per second of the interceptor and of what one would write without it.

    python -m scripts.bench.decode                 # N=5, sampled, 256 questions, 5 repetitions; about 20 minutes
    python -m scripts.bench.decode --quick         # a look

All engines hold the same weights and answer the same questions with the same budgets, alternating within one process;
slow ones answer fewer and are compared by questions per second. Writes its table to scripts/bench/README.md.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from typing import Any

import torch

from scripts.bench.page import write_section
from scripts.bench.peers import Batched, Continuous, Floor, Naive, Ours
from scripts.bench.workload import Workload, machine

SHARE = {"a": 0.016, "b": 0.25, "c": 0.25, "d": 0.25}  # of the questions that a peer answers in one repetition


def agreement(work: Workload, peers: list[Any], count: int) -> dict[str, str]:
    """Greedy replies that equal ours, of `count`."""
    ours, *others = peers
    questions = work.questions[:count]
    expected = ours.run(questions, False)
    same = {ours.name: f"{count}/{count}"}
    for peer in others:
        if peer.name != Floor.name:
            texts = peer.run(questions, False)
            same[peer.name] = f"{sum(a == b for a, b in zip(texts, expected, strict=True))}/{count}"
    return same


def measure(work: Workload, peers: list[Any], repetitions: int) -> dict[str, list[float]]:
    """Questions per second of each peer, by repetition; peers alternate."""
    rates: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for repetition in range(repetitions):
        for peer in peers:
            torch.manual_seed(repetition)
            count = max(2, round(len(work.questions) * SHARE.get(peer.name[0], 1.0)))
            begun = time.perf_counter()
            peer.run(work.questions[:count], True)
            rates[peer.name].append(count / (time.perf_counter() - begun))
            print(f"  {repetition + 1}/{repetitions} {peer.name}: {rates[peer.name][-1]:.2f} questions/s", flush=True)
    return rates


def table(work: Workload, ours: Ours, rates: dict[str, list[float]], same: dict[str, str], shots: int) -> str:
    """The Markdown that `decode.md` holds."""
    facts = machine()
    own = rates[ours.name]
    lines = [
        f"N={shots}, {len(work.questions)} questions, sampled (temperature 0.9, top-k 50), {len(own)} repetitions;",
        "; ".join(f"{name} {value}" for name, value in facts.items()) + ".",
        "",
        "| engine | questions/s, median (min-max) | ours is faster by | greedy replies equal to ours |",
        "|---|---|---|---|",
    ]
    for name, values in rates.items():
        ratios = [mine / theirs for mine, theirs in zip(own, values, strict=True)]
        spread = f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"
        ratio = f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}-{max(ratios):.2f})"
        lines.append(f"| {name} | {spread} | {ratio} | {same.get(name, 'forward passes only')} |")
    floor = [mine / theirs for mine, theirs in zip(own, rates[Floor.name], strict=True)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fed = ours.tokens / len(work.questions)
    lines += [
        "",
        f"Efficiency (ours / floor): {statistics.median(floor):.3f}. Slot occupancy {ours.occupancy:.2f}. Tokens fed",
        f"per question {fed:.1f}; {fed * statistics.median(own):.0f} tokens/s. Peak memory {peak:.1f} GiB.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=5)
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--threads", type=int, default=None, help="torch threads; all cores by default")
    parser.add_argument("--quick", action="store_true", help="32 questions, 1 repetition, nothing written")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    count, repetitions = (32, 1) if options.quick else (options.questions, options.repetitions)
    work = Workload(options.shots, count)
    ours = Ours(work, options.slots)
    peers = [ours, Floor(ours), Naive(work, False), Naive(work, True), Batched(work, False), Batched(work, True)]
    peers.append(Continuous(work))
    same = agreement(work, peers, 4 if options.quick else 12)
    text = table(work, ours, measure(work, peers, repetitions), same, options.shots)
    print(text)
    if not options.quick:
        write_section("decode", text)


if __name__ == "__main__":
    main()
