"""The configuration of a RestBench run, checked and with every default filled in.

Knows the keys and what makes them consistent; knows nothing of models, services or tasks beyond their names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from experiments.restbench.data import Scenario
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.strategies import STRATEGIES

ORACLE = "oracle"
Count = Annotated[int, Field(ge=1)]


class PlannerModel(BaseModel):
    """One model. `model` is `oracle` (the scripted one that knows the way) or what `toolkit rest ask --model` takes.

    `key_env` names the variable with a server's key; `context` is the tokens it takes, when other than it says.
    `per_second` is a measured number of episodes per second, used by `toolkit plan` alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$")]
    model: Annotated[str, Field(min_length=1)]
    key_env: str | None = None
    context: Annotated[int, Field(ge=256)] | None = None
    per_second: Annotated[float, Field(gt=0)] | None = None


class Bounds(BaseModel):
    """The hard limits of one episode, see `toolkit.restgpt.budget.RunLimits`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sub_tasks: Count = RunLimits.sub_tasks
    continues: Count = RunLimits.continues
    calls: Count = RunLimits.calls
    tokens: Count = RunLimits.tokens
    seconds: Annotated[float, Field(gt=0)] = RunLimits.seconds

    @property
    def limits(self) -> RunLimits:
        """The same as the planner takes it."""
        return RunLimits(**self.model_dump())


class Noise(BaseModel):
    """The noise curve: `core` endpoints that suffice for the tasks, and how many there are in all at each point."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    core: Annotated[list[str], Field(min_length=1)]
    endpoints: Annotated[list[Count], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)] = 0


class RestBenchConfig(BaseModel):
    """See configs/restbench/ for each key with its source.

    Every task is asked in `worlds` worlds, of the seeds `first_world`, `first_world` + 1 and so on. `tasks` are indices
    by scenario (all where it names none), `data` is the folder of RestBench's files (see `data.locate` without it).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: Literal["restbench"]
    title: str = "RestBench offline"
    data: Path | None = None
    models: Annotated[list[PlannerModel], Field(min_length=1)]
    strategies: Annotated[list[str], Field(min_length=1)] = ["restgpt"]
    scenarios: Annotated[list[Scenario], Field(min_length=1)] = ["tmdb", "spotify"]
    tasks: dict[Scenario, Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]] = {}
    worlds: Count = 1
    first_world: Annotated[int, Field(ge=0)] = 1
    counterfactual: bool = False
    noise: Noise | None = None
    limits: Bounds = Bounds()
    deviations: list[str] = []

    @field_validator("strategies")
    @classmethod
    def _known_strategies(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in STRATEGIES:
                raise ValueError(f"there is no strategy {name!r}; choose from {', '.join(STRATEGIES)}")
        return names

    @field_validator("models", "strategies", "scenarios")
    @classmethod
    def _distinct(cls, values: list[object]) -> list[object]:
        names = [getattr(value, "name", value) for value in values]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{repeated[0]!r} is there twice")
        return values

    @field_validator("tasks")
    @classmethod
    def _distinct_tasks(cls, chosen: dict[Scenario, list[int]]) -> dict[Scenario, list[int]]:
        for indices in chosen.values():
            cls._distinct(list(indices))
        return chosen

    @model_validator(mode="after")
    def _noise_is_about_one(self) -> RestBenchConfig:
        if self.noise is not None and len(self.scenarios) > 1:
            raise ValueError("the noise curve is about one scenario: its core endpoints belong to one description")
        if unused := set(self.tasks) - set(self.scenarios):
            raise ValueError(f"tasks of {sorted(unused)[0]} are chosen, but the scenario is not")
        return self
