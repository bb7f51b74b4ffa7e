"""What a run costs beside its model: storage, the run loop, merging, starting again, report and verify, by samples.

    python -m scripts.bench.scale                                   # 10^4 and 10^5 samples; about ten minutes
    python -m scripts.bench.scale --samples 10000 100000 1000000    # what README.md shows; over an hour on one core

An engine that answers at once stands in for the model; all else is the real thing: prompts, scoring, records, views.
Writes its section of scripts/bench/README.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.base import Item, Source
from experiments.crew import Crew
from experiments.engine import merge_shards, missing, run
from experiments.operators.config import OperatorsConfig
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.prompts import Asked, number
from experiments.records import HEADER, PREFIXES, SAMPLES, TIMINGS, RunWriter, Sample, dump, read_samples, shard_folder
from experiments.storage import read_lines
from experiments.suites.load import load_suite
from scripts.bench.page import write_section
from toolkit.calls.syntax import ARROW
from toolkit.decoding.request import CallRecord, Reply
from toolkit.tools.outcome import Outcome

MODELS, SHARDS, PROJECTED = 3, 4, 10_000_000
TOKENS = 26  # of a reply, as SmolLM2 writes it
STEPS = ("run loop", "start again", "merge", "report", "verify")


class Instant:
    """Answers at once: three of four questions rightly by a call, the others without one."""

    description: dict[str, Any] = {"weights_sha256": "none: scripts/bench/scale.py"}  # noqa: RUF012

    def answer(self, asked: Iterable[Asked]) -> Iterator[Reply]:
        """Replies in the order of the questions."""
        for one in asked:
            yield self._reply(one)

    def _reply(self, one: Asked) -> Reply:
        luck = number(one.item.id)
        ids = [(luck >> shift) % 49152 for shift in range(TOKENS)]
        arguments, truth = one.question.arguments, one.question.truth
        if luck % 4 == 0:
            return Reply(one.item.id, ids, [1] * TOKENS, f" {arguments} is {luck % 100}.", [], "stop")
        head, call = f" {arguments} is ", ARROW.call("MATH", arguments)
        text = f"{head}{call}{ARROW.injection(truth)} {truth}."
        record = CallRecord("MATH", arguments, Outcome("ok", truth, 1e-5), len(head), len(head) + len(call))
        return Reply(one.item.id, ids, [1] * 17 + [0] * 4 + [1] * (TOKENS - 21), text, [record], "stop")


class Silent:
    """A Watch that watches nothing."""

    def begin(self, total: int, done: int, items: Iterable[Item]) -> None:
        """Nothing to show."""

    def answered(self, item_id: str) -> None:
        """Nothing to show."""

    def saved(self, samples: Sequence[Sample]) -> None:
        """Nothing to show."""


@dataclass(frozen=True)
class Cost:
    """Of one size: samples, bytes by kind of file, processor seconds and peak bytes by step."""

    samples: int
    stored: dict[str, int]
    seconds: dict[str, float]
    peak: dict[str, int]


def experiment_of(samples: int) -> tuple[OperatorTransfer, Source]:
    """The grid of 36 cells a model, `MODELS` models, with as many trials as make about `samples` samples."""
    typed = {
        "experiment": "operators",
        "models": [{"name": f"model-{number}", "path": "none"} for number in range(MODELS)],
        "trials": max(1, round(samples / (36 * MODELS))),
        "title": "Synthetic records",
    }
    config = OperatorsConfig.model_validate(typed)
    made = OperatorTransfer(config, load_suite("operators"), "scale", lambda *_: Instant())
    return made, Source(Path("scale.yaml"), typed)


def timed(work: Any) -> tuple[float, int]:
    """Processor seconds and peak resident bytes of `work()` in a child process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit("a step failed; see above")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def command(verb: str, folder: Path) -> None:
    """Replace this process by `toolkit VERB RUN`."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    os.execv(sys.executable, [sys.executable, "-m", "experiments.cli", verb, str(folder)])


def split(folder: Path) -> None:
    """Lay the samples and timings out as `SHARDS` processes leave them."""
    crews = [Crew(rank, SHARDS) for rank in range(SHARDS)]
    for rank in range(SHARDS):
        with RunWriter(shard_folder(folder, rank, SHARDS)) as writer:
            shutil.copy(folder / PREFIXES, writer.folder / PREFIXES)
    for kind in (SAMPLES, TIMINGS):
        for path in sorted((folder / kind).glob("*.jsonl")):
            parts = [(shard_folder(folder, rank, SHARDS) / kind / path.name).open("w") for rank in range(SHARDS)]
            for _, record in read_lines(path):
                parts[next(crew.rank for crew in crews if crew.takes(record["id"]))].write(dump(record))
            for part in parts:
                part.close()
            path.unlink()


def measure(samples: int, folder: Path) -> Cost:
    """Make a run of that size in `folder` and time what is done with it."""
    experiment, source = experiment_of(samples)
    planned = sum(1 for _ in experiment.items())
    seconds, peak = {}, {}

    def start_again() -> None:
        with RunWriter(folder) as writer:
            assert missing(experiment, writer.done, None) == (planned, [])

    def merge() -> None:
        with RunWriter(folder) as writer:
            merge_shards(writer, {"models": {}})
            assert len(writer.done) == planned

    works: dict[str, Any] = {
        "run loop": lambda: run(experiment, source, folder, Silent()),
        "start again": start_again,
        "report": lambda: command("report", folder),
        "verify": lambda: command("verify", folder),
        "merge": merge,
    }
    stored: dict[str, int] = {}
    for name, work in works.items():
        if name == "merge":
            stored = sizes(folder)
            split(folder)
        seconds[name], peak[name] = timed(work)
        print(f"{planned:>9} samples  {name}: {seconds[name]:.1f} s, {peak[name] / 2**20:.0f} MiB", flush=True)
    assert sum(1 for _ in read_samples(folder)) == planned
    return Cost(planned, stored, seconds, peak)


def sizes(folder: Path) -> dict[str, int]:
    """Bytes by kind of file."""
    kinds = {"samples": f"{SAMPLES}/*", "timings": f"{TIMINGS}/*", "prefixes": PREFIXES, "header": HEADER}
    kinds |= {"samples.parquet": "samples.parquet", "report": "report/**/*"}
    return {
        kind: sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())
        for kind, pattern in kinds.items()
    }


def page(costs: list[Cost]) -> str:
    """The section: what was measured, and the largest size's cost a sample projected to 10^7."""
    from scripts.bench.workload import machine

    last = costs[-1]
    heads = [f"{cost.samples:,}" for cost in costs]
    lines = [
        f"{MODELS} models x 6 shots x 6 operators x trials; processor time and peak memory; "
        + "; ".join(f"{name} {value}" for name, value in machine().items())
        + f". The last column is the cost a sample of {heads[-1]} samples times 10^7: projected, not measured.",
        "",
        "| samples | " + " | ".join(heads) + f" | {PROJECTED:,} (projected) |",
        "|---|" + "---:|" * (len(heads) + 1),
    ]
    for name in STEPS:
        more = last.seconds[name] / last.samples * PROJECTED
        row = [f"{cost.seconds[name]:.1f} s, {cost.peak[name] / 2**20:.0f} MiB" for cost in costs]
        lines.append(f"| {name} | " + " | ".join(row) + f" | {more / 60:.0f} min |")
    for kind in last.stored:
        more = last.stored[kind] / last.samples * PROJECTED
        row = [f"{cost.stored[kind] / 1e6:.1f} MB" for cost in costs]
        fixed = kind in ("header", "report", "prefixes")
        lines.append(
            f"| {kind} on disk | " + " | ".join(row) + f" | {'as before' if fixed else f'{more / 1e9:.1f} GB'} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure each size and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="+", default=[10_000, 100_000], help="sizes of run")
    asked = parser.parse_args()
    costs = []
    for samples in sorted(asked.samples):
        with TemporaryDirectory() as folder:
            costs.append(measure(samples, Path(folder) / "run"))
    write_section("scale", page(costs))


if __name__ == "__main__":
    main()
