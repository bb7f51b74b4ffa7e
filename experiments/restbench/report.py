"""The tables of a RestBench run: the one that stands beside RestGPT's Table 4, errors by module, and pass^k.

All from the records: a row is a model, a strategy, a scenario and, in a noise run, a number of endpoints. Episodes are
the denominators; where there are several worlds, the same task counts once per world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from statistics import fmean
from typing import Any

from experiments.report.extra import Table, Value
from experiments.restbench.scoring import OUTCOMES
from toolkit import stats

MAIN_NOTE = (
    "Success: the task's oracle, by the state of the service and the grounded answer, with its 95 % Wilson interval. "
    "CP: the published gold path is a subsequence of the successful requests; CP v2: any acceptable path. Tool share: "
    "part of an acceptable path's endpoints that was called, a softer measure than CP. Delta length: requests beyond "
    "the gold path, mean over successes. Requests and tokens (read and written): mean over episodes. n: episodes."
)
ERRORS_NOTE = "Episodes by what they are put down to, each to the first that applies. "
PASS_NOTE = (
    "pass^k: the chance that k worlds drawn for a task are all successes, mean over the tasks asked in k worlds or "
    "more (tau-bench's measure, over worlds instead of repeated trials)."
)


@dataclass
class Group:
    """What is kept of the episodes of one row."""

    tasks: dict[int, list[bool]] = field(default_factory=dict)
    scores: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    shares: list[float] = field(default_factory=list)
    deltas: list[int] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    @property
    def episodes(self) -> int:
        """How many there are."""
        return len(self.requests)

    def add(self, sample: Mapping[str, Any]) -> None:
        """Count one episode."""
        measures = sample["measures"]
        self.tasks.setdefault(sample["task"]["index"], []).append(bool(sample["scores"]["success"]))
        self.scores.update(name for name, passed in sample["scores"].items() if passed)
        self.outcomes[sample["outcome"]] += 1
        self.shares.append(measures["tool_share"])
        self.requests.append(measures["requests"])
        self.tokens.append(sample["spent"]["tokens"])
        if measures["delta_length"] is not None:
            self.deltas.append(measures["delta_length"])

    def pass_hat(self, k: int) -> float | None:
        """pass^k over the tasks that were asked in k worlds or more; None when there is none."""
        chances = [comb(sum(runs), k) / comb(len(runs), k) for runs in self.tasks.values() if len(runs) >= k]
        return fmean(chances) if chances else None


Key = tuple[str, str, str, int | None]


def groups(header: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> dict[Key, Group]:
    """The episodes by (model, strategy, scenario, endpoints), in the header's order; endpoints None in common runs."""
    report = header["report"]
    noise = report["axes"]["columns"] == "endpoints"
    found: dict[Key, Group] = {}
    for sample in samples:
        key = sample["model"], sample["variant"], sample["skill"], sample["shots"] if noise else None
        found.setdefault(key, Group()).add(sample)
    orders = [report["models"], report["variants"], report["skills"]]

    def place(key: Key) -> tuple[int, ...]:
        return (*(order.index(name) for order, name in zip(orders, key[:3], strict=True)), key[3] or 0)

    return {key: found[key] for key in sorted(found, key=place)}


def tables(header: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> list[Table]:
    """The tables of a run."""
    found = groups(header, samples)
    noise = any(key[3] is not None for key in found)
    heads = ("model", "strategy", "scenario", *(("endpoints",) if noise else ()))
    labels: dict[Key, list[Value]] = {key: [*key[:3], *([key[3]] if noise else [])] for key in found}
    made = [_main(heads, labels, found), _errors(heads, labels, found)]
    worlds = max((len(runs) for group in found.values() for runs in group.tasks.values()), default=1)
    return made + ([_passes(heads, labels, found, worlds)] if worlds > 1 else [])


def _main(heads: Sequence[str], labels: Mapping[Key, list[Value]], found: Mapping[Key, Group]) -> Table:
    columns = ("n", "successes", "success %", "low", "high", "CP %", "CP v2 %", "tool share %", "delta length")
    rows = [[*labels[key], *_measures(group)] for key, group in found.items()]
    return Table("restbench", "RestBench", MAIN_NOTE, (*heads, *columns, "requests", "tokens"), rows)


def _measures(group: Group) -> list[Value]:
    n, successes = group.episodes, group.scores["success"]
    interval = stats.wilson(successes, n)
    parts = [successes / n, interval.low, interval.high, *(group.scores[name] / n for name in _PATHS)]
    delta = round(fmean(group.deltas), 4) if group.deltas else None
    means = [round(fmean(group.requests), 4), round(fmean(group.tokens), 4)]
    return [n, successes, *(round(100 * part, 4) for part in [*parts, fmean(group.shares)]), delta, *means]


_PATHS = ("correct_path", "correct_path_v2")


def _errors(heads: Sequence[str], labels: Mapping[Key, list[Value]], found: Mapping[Key, Group]) -> Table:
    present = [name for name in OUTCOMES if any(group.outcomes[name] for group in found.values())]
    rows = [[*labels[key], *(group.outcomes[name] for name in present)] for key, group in found.items()]
    note = ERRORS_NOTE + "; ".join(f"{name.replace('_', ' ')}: {OUTCOMES[name]}" for name in present) + "."
    return Table("errors", "Errors by module", note, (*heads, *(name.replace("_", " ") for name in present)), rows)


def _passes(heads: Sequence[str], labels: Mapping[Key, list[Value]], found: Mapping[Key, Group], worlds: int) -> Table:
    rows = [[*labels[key], *(_percent(group.pass_hat(k + 1)) for k in range(worlds))] for key, group in found.items()]
    return Table("pass_k", "pass^k over worlds", PASS_NOTE, (*heads, *(f"pass^{k + 1} %" for k in range(worlds))), rows)


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 4)
