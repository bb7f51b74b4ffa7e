"""The configuration of the held-out experiment, checked and with every default filled in.

Knows the keys and what makes them consistent; knows nothing of models beyond their spec and of prompts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from toolkit.models.spec import ModelSpec

VARIANT = re.compile(r"(strict|paper)-(arrow|equals|none)(-constrained)?(?:-t(\d{1,2}(?:\.\d{1,3})?))?")
Design = Literal["triangular", "leave-one-out"]


@dataclass(frozen=True)
class Variant:
    """How a matrix is measured: protocol, syntax (`none`: no tool, calls removed from the examples), temperature.

    `temperature` None is greedy. `constrained`: once a call is begun, only a call that the APIs take can be written.
    """

    name: str
    protocol: str
    syntax: str
    temperature: float | None
    constrained: bool = False

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, name: str) -> Variant:
        """`strict-arrow`, `paper-equals-t0.9`; ValueError for anything else."""
        match = VARIANT.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is no variant: write protocol-syntax, e.g. strict-arrow or paper-arrow-t0.9")
        protocol, syntax, constrained, temperature = match.groups()
        if (protocol, syntax) == ("paper", "none"):
            raise ValueError("the paper protocol has no run without a tool: use strict-none")
        if constrained and (protocol == "paper" or syntax == "none"):
            raise ValueError("only strict runs with a tool can be constrained: use strict-arrow-constrained")
        if temperature is not None and float(temperature) == 0:
            raise ValueError("temperature 0 is greedy: leave out -t0")
        return cls(name, protocol, syntax, None if temperature is None else float(temperature), bool(constrained))


class ModelConfig(ModelSpec):
    """A model and the token budgets that its vocabulary needs.

    `model_tokens` bounds what the model writes in a `strict` reply, `segment_tokens` one segment of a `paper` reply.
    `per_second` is a measured number of questions per second, used by `toolkit plan` alone.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$")]
    model_tokens: Annotated[int, Field(ge=1, le=1024)] = 48
    segment_tokens: Annotated[int, Field(ge=1, le=256)] = 16
    per_second: Annotated[float, Field(gt=0)] | None = None


class OperatorsConfig(BaseModel):
    """See configs/operators/ for each key with its source."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    experiment: Literal["operators"]
    title: str = "Held-out operator transfer"
    suite: str = "operators"
    models: Annotated[list[ModelConfig], Field(min_length=1)]
    variants: Annotated[list[str], Field(min_length=1)] = ["strict-arrow"]
    design: Design = "triangular"
    shots: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    skills: Annotated[list[str], Field(min_length=1)] | None = None
    introduction: Annotated[list[str], Field(min_length=1)] | None = None
    trials: Annotated[int, Field(ge=1, le=10_000)]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    orders: Annotated[int, Field(ge=1, le=10_000)] = 16
    top_k: Annotated[int, Field(ge=1)] | None = 50
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    slots: Annotated[int, Field(ge=1, le=4096)] = 64
    memory: Annotated[float, Field(gt=0, le=1)] | None = None
    deviations: list[str] = []

    @field_validator("variants")
    @classmethod
    def _known_variants(cls, names: list[str]) -> list[str]:
        for name in names:
            Variant.parse(name)
        return names

    @field_validator("models", "variants", "shots", "skills", "introduction")
    @classmethod
    def _distinct(cls, values: list[object] | None) -> list[object] | None:
        names = [getattr(value, "name", value) for value in values or []]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{repeated[0]!r} is there twice")
        return values

    @model_validator(mode="after")
    def _design_has_shots(self) -> OperatorsConfig:
        if self.design == "leave-one-out" and self.shots is not None:
            raise ValueError("leave-one-out fixes the number of shots: remove the key shots")
        return self
