"""The verbs `plan`, `run`, `status` and `score` for any experiment: what they take, and what they print.

Thin: the loop is in engine.py, the format in records.py, the plan in planning.py. Imports no torch; `run` does, through
the experiment, once it has something to answer.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments import base, records
from experiments.engine import Answers, Done
from experiments.engine import run as run_loop
from experiments.progress import Progress
from experiments.storage import write_atomic
from toolkit.errors import UserError

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML configuration, see configs/.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace one value of CONFIG; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def run(
    config: ConfigPath,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/<name of CONFIG> by default.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many trials of each cell.")] = None,
    memory: Annotated[float | None, typer.Option(min=0.01, max=1, help="Share of the free memory for slots.")] = None,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Who answers: this process, or a cluster.")] = "local",
    per_worker: Annotated[str, typer.Option(metavar="NAME=N,...", help="What a Ray worker takes.")] = "CPU=1",
    assignments: Assignments = None,
    as_json: Json = False,
) -> None:
    """Run or resume CONFIG, then print its matrix.

    Samples that are there are kept. Ctrl-C is safe: the same command goes on. Under `accelerate launch`, the processes
    share the work.
    """
    from experiments.crew import crew_of_environment

    typed_memory = [] if memory is None else [f"memory={memory}"]
    experiment, typed = base.load(config, [*(assignments or ()), *typed_memory])
    folder, source, crew = _folder(config, out), base.Source(config, typed), crew_of_environment()
    with stoppable(), Progress(sys.stderr, silent=crew.rank > 0) as progress:
        if crew.alone:
            answers = _answers(engine, per_worker, source)
            done = run_loop(experiment, source, folder, progress, limit, answers)
        elif engine == "ray":
            raise UserError("Ray starts processes by itself", "--engine ray", "run it without accelerate launch")
        else:
            from experiments.parallel import run_in_crew

            done = run_in_crew(crew, experiment, source, folder, progress, limit)
    if crew.rank == 0:
        _show(done, folder, as_json)


def _answers(engine: str, per_worker: str, source: base.Source) -> Answers | None:
    """Who answers; None: this process."""
    if engine == "local":
        return None
    from experiments.ray_engine import RayAnswers, resources

    return RayAnswers(source, resources(per_worker))


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a request to end (SIGTERM, as schedulers send it) do what Ctrl-C does, once: what is at hand gets written."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(done: Done, folder: Path, as_json: bool) -> None:
    """What a run prints at its end."""
    if as_json:
        print(json.dumps({"run": str(folder), "made": done.made, "before": done.before, "planned": done.planned}))
        return
    from experiments.report.commands import print_matrix

    print_matrix(folder)
    print(_ending(done, folder))


def _folder(config: Path, out: Path | None) -> Path:
    """The run folder: as asked for, or runs/<name of the configuration>."""
    return out or Path("runs") / config.stem


def _ending(done: Done, folder: Path) -> str:
    """The last line of `run`."""
    there = done.made + done.before
    rest = "" if there == done.planned else f" of {done.planned} planned"
    speed = f", {done.made / done.seconds:.1f} per second" if done.made and done.seconds > 0 else ""
    return f"{there} samples{rest} in {folder} ({done.made} made now in {done.seconds:.0f} s{speed})"


def status(folder: RunPath, as_json: Json = False) -> None:
    """Say how far RUN is, from its header and samples."""
    header = records.read_header(folder)
    done = sum(1 for part in (folder, *records.shard_folders(folder)) for _ in records.read_samples(part))
    facts = {
        "experiment": header["experiment"],
        "samples": done,
        "planned": header["planned"],
        "sessions": len(header["sessions"]),
        "commit": header["sessions"][-1]["commit"],
        "dirty": header["sessions"][-1]["dirty"],
        "models": {name: model.get("weights_sha256") for name, model in header["models"].items()},
    }
    if as_json:
        print(json.dumps(facts))
        return
    state = "complete" if done >= header["planned"] else "incomplete: run the same command to go on"
    print(f"{folder}: {header['experiment']}, {done} of {header['planned']} samples, {state}")
    print(f"{facts['sessions']} session(s), last at commit {facts['commit']}{' (dirty)' if facts['dirty'] else ''}")


def score(
    folder: RunPath,
    scorer: Annotated[str | None, typer.Option(help="strict, paper or call; all of them by default.")] = None,
    as_json: Json = False,
) -> None:
    """Score the stored samples of RUN again; needs no model. The samples are rewritten where a verdict changed."""
    header = records.read_header(folder)
    experiment = base.make(header["config"]["typed"], Path(header["config"]["path"]))
    _same_suite(header, experiment, folder)
    changed, total, passes = _rescore(folder, experiment, scorer)
    if as_json:
        print(json.dumps({"samples": total, "changed": changed, "passed": passes}))
        return
    for name, count in sorted(passes.items()):
        print(f"{name}: {count}/{total}")
    print(f"{changed} of {total} samples changed" + (": run toolkit report anew" if changed else ""))


def _same_suite(header: dict[str, Any], experiment: base.Experiment, folder: Path) -> None:
    """Refuse to score with other truths or forms than the questions were made with."""
    now = experiment.header().get("suite")
    if header.get("suite") != now:
        raise UserError("the suite is not the one that this run was made with", str(folder), "restore the suite's file")


def _rescore(folder: Path, experiment: base.Experiment, scorer: str | None) -> tuple[int, int, dict[str, int]]:
    """Score every sample file and replace those that changed; (changed, total, passes by scorer)."""
    changed = total = 0
    passes: dict[str, int] = {}
    with records.RunWriter(folder):
        for path in records.sample_files(folder):
            before = list(records.read_sample_file(path))
            old = [records.dump(record) for record in before]
            new = [records.dump(sample) for sample in _counted(experiment, before, scorer, passes)]
            differing = sum(one != other for one, other in zip(old, new, strict=True))
            changed, total = changed + differing, total + len(new)
            if differing:
                write_atomic(path, "".join(new))
    return changed, total, passes


def _counted(
    experiment: base.Experiment, samples: Iterable[Any], scorer: str | None, passes: dict[str, int]
) -> Iterator[records.Sample]:
    for sample in experiment.score(samples, scorer):
        for name, verdict in sample["scores"].items():
            passes[name] = passes.get(name, 0) + (verdict is True)
        yield sample


def plan(config: ConfigPath, assignments: Assignments = None, as_json: Json = False) -> None:
    """Show grid, prompts of the first sample of each cell, token counts, time and power of CONFIG; run nothing.

    The time is known once a run of CONFIG was timed, or where CONFIG states `per_second` of a model.
    """
    from experiments import planning

    experiment, _ = base.load(config, assignments or ())
    facts = planning.facts(experiment, planning.measured(_folder(config, None)))
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        planning.show(facts)
