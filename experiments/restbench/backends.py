"""Opens the models of a run and states which they are. A server's key and address parts that may hold one stay out.

A back end gives the model for one episode: the same object every time, except for the oracle, which is made for a task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.restbench.config import ORACLE, PlannerModel
from experiments.restbench.oracle import Task
from experiments.restbench.oracle_model import OracleModel
from experiments.restbench.scenario import Bench, Sitting, World
from toolkit.models.completion import CompletionModel, open_model

ForEpisode = Callable[[Bench, Task, World, Sitting], CompletionModel]
_NOT_LOCAL = ("openai", "completions", "scripted")


@dataclass(frozen=True)
class Backend:
    """A model that is open: what a run header says of it, and how to get it for an episode."""

    description: dict[str, Any]
    model: ForEpisode


def open_backend(config: PlannerModel) -> Backend:
    """Load or connect to a model. Raises `UserError` when there is none."""
    if config.model == ORACLE:
        return Backend({"model": ORACLE, "context": OracleModel.context}, oracle)
    if config.model.partition(":")[0] in _NOT_LOCAL:
        served = open_model(config.model, config.key_env, config.context)
        return Backend({"model": config.model, "context": served.context}, lambda *_: served)
    return _local(config)


def oracle(bench: Bench, task: Task, world: World, sitting: Sitting) -> CompletionModel:
    """The oracle for one episode: a scout goes the way first, in a service of its own."""
    scout = Sitting(bench.scenario, world)
    answer = scout.solve(task)
    return OracleModel(scout.episode.log, answer, task.answerable, lambda: len(sitting.episode.log))


def _local(config: PlannerModel) -> Backend:
    from toolkit.models.describe import describe
    from toolkit.models.load import load
    from toolkit.models.local import LocalModel
    from toolkit.models.spec import ModelSpec

    spec = ModelSpec(name=config.name, path=config.model)
    weights, tokenizer = load(spec)
    local = LocalModel(weights, tokenizer, config.name, config.context)
    return Backend({**describe(weights, tokenizer, spec), "context": local.context}, lambda *_: local)
