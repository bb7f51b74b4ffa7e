"""The configuration of an evaluation of adapters, checked and with every default filled in.

A column of the matrix is the model as it is, or the model with one adapter. Knows the keys; reads no adapter.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from experiments.operators.config import Design, ModelConfig, OperatorsConfig
from experiments.operators.scoring import SCORERS
from toolkit.calls.syntax import SYNTAXES

VARIANT = "strict-arrow"  # protocol and syntax of every column; exchanges are trained in the arrow syntax
RESERVED = frozenset({*SCORERS, *SYNTAXES})  # words by which scorers and reports recognise other variants
OWN = frozenset({"columns", "controls", "retention"})  # keys that the operator experiment does not have


class Column(BaseModel):
    """One column: `adapter` is the folder that `toolkit tune` or PEFT wrote, None the model as it is.

    `trained` names the operators that training showed, for an adapter whose folder does not say it itself.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,40}$")]
    adapter: str | None = None
    trained: list[str] | None = None

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, name: str) -> str:
        if words := RESERVED.intersection(name.split("-")):
            raise ValueError(
                f"{name!r} holds {sorted(words)[0]!r}, which names a protocol or syntax: take another name"
            )
        return name


class TuningConfig(BaseModel):
    """See configs/tuning/ for each key with its source; keys that `operators` has too mean the same.

    Without `controls` a prompt holds no exchange but the shots, so that at N = 0 an adapter stands alone. With
    `retention` a row of questions that need no tool and the perplexity of ordinary text are measured too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: Literal["tuning"]
    title: str = "Tuning and held-out operators"
    suite: str = "operators"
    models: Annotated[list[ModelConfig], Field(min_length=1)]
    columns: Annotated[list[Column], Field(min_length=1)]
    design: Design = "triangular"
    shots: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    skills: Annotated[list[str], Field(min_length=1)] | None = None
    introduction: Annotated[list[str], Field(min_length=1)] | None = None
    controls: bool = False
    retention: bool = True
    trials: Annotated[int, Field(ge=1, le=10_000)]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    orders: Annotated[int, Field(ge=1, le=10_000)] = 16
    slots: Annotated[int, Field(ge=1, le=4096)] = 64
    deviations: list[str] = []

    @field_validator("columns")
    @classmethod
    def _distinct(cls, columns: list[Column]) -> list[Column]:
        names = [column.name for column in columns]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{repeated[0]!r} is there twice")
        return columns

    def operators(self) -> dict[str, Any]:
        """The configuration of the operator experiment that every column runs."""
        kept = {key: value for key, value in self.model_dump(exclude_none=True).items() if key not in OWN}
        return OperatorsConfig.model_validate({**kept, "experiment": "operators", "variants": [VARIANT]}).model_dump()
