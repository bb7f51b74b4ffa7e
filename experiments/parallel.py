"""A run by several processes: each answers its share of the items into its shard, the first one merges them.

The first process holds the run's lock all the time, so strangers stay out, and is the only one that touches the run's
own files. What a killed process wrote is merged at the next start. Knows nothing of how the processes were started.
"""

from __future__ import annotations

import sys
from collections.abc import Container
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from experiments.base import Experiment, Source
from experiments.crew import Crew
from experiments.engine import Done, Local, Recorder, Watch, merge_shards, missing, open_run
from experiments.records import RunWriter, read_header, read_samples, shard_folder, write_header
from toolkit.errors import RunError, UserError


def run_in_crew(
    crew: Crew, experiment: Experiment, source: Source, folder: Path, watch: Watch, limit: int | None = None
) -> Done:
    """As `engine.run`, in each process of a crew. `watch` hears of this process's share."""
    crew.join()
    if crew.rank:
        return _follow(crew, experiment, folder, watch, limit)
    return _lead(crew, experiment, source, folder, watch, limit)


def _lead(crew: Crew, experiment: Experiment, source: Source, folder: Path, watch: Watch, limit: int | None) -> Done:
    """The first process: prepare the folder, let the others begin, answer a share, merge."""
    started = perf_counter()
    with ExitStack() as stack:
        try:
            writer = stack.enter_context(RunWriter(folder))
            header, planned = open_run(experiment, source, folder, writer)
        except (UserError, RunError) as error:
            crew.from_first(error.exit_code)
            raise
        crew.from_first(0)
        wanted, todo = missing(experiment, writer.done, limit)
        problems = _share(crew, experiment, writer.done, folder, watch, limit)
        merge_shards(writer, header)
        if problems:
            raise RunError("; ".join(problems))
        if left := [item.id for item in todo if item.id not in writer.done]:
            raise RunError(f"{folder}: {len(left)} samples are missing after merging, the first is {left[0]}")
    return Done(len(todo), wanted - len(todo), planned, perf_counter() - started)


def _follow(crew: Crew, experiment: Experiment, folder: Path, watch: Watch, limit: int | None) -> Done:
    """Any other process. When the first one cannot begin, it says why and this one just ends."""
    if code := crew.from_first():
        sys.exit(code)
    started = perf_counter()
    done = {sample["id"] for sample in read_samples(folder)}
    wanted, todo = missing(experiment, done, limit)
    if _share(crew, experiment, done, folder, watch, limit):
        sys.exit(RunError.exit_code)
    return Done(len(todo), wanted - len(todo), read_header(folder)["planned"], perf_counter() - started)


def _share(
    crew: Crew, experiment: Experiment, done: Container[str], folder: Path, watch: Watch, limit: int | None
) -> list[str]:
    """Answer this process's share into its shard and wait for the others; what went wrong in any of them."""
    _, todo = missing(experiment, done, limit)
    mine = [item for item in todo if crew.takes(item.id)]
    shard, header, problem = shard_folder(folder, crew.rank, crew.size), read_header(folder), None
    with RunWriter(shard) as writer:
        write_header(shard, header)
        watch.begin(len(mine), 0, mine)
        try:
            Recorder(writer, header, watch).take(list(experiment.streams(mine)), Local(experiment))
        except (UserError, RunError) as error:
            problem = f"process {crew.rank} of {crew.size}: {error}"
    return [problem for problem in crew.gather(problem) if problem is not None]
