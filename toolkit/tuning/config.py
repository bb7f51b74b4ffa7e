"""What a tuning run is: the base model, the training data, the method and the budget. Data only; imports no torch.

Values are checked here as far as they can be without a model or a manifest. See configs/tuning/ for sources.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolkit.models.spec import ModelSpec

Positive = Annotated[int, Field(ge=1)]
INIT = "The assistant looks at the question and writes a call in brackets when a tool can answer it. "


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PromptTuning(_Data):
    """Soft prompt of `tokens` embeddings, begun from the token embeddings of `init` (Lester et al. 2021)."""

    kind: Literal["prompt"]
    tokens: Annotated[int, Field(ge=1, le=512)] = 20
    init: Annotated[str, Field(min_length=1)] = INIT


class PrefixTuning(_Data):
    """`tokens` key/value positions per layer, begun from the activations of `init` (Li & Liang 2021, section 7.4)."""

    kind: Literal["prefix"]
    tokens: Annotated[int, Field(ge=1, le=512)] = 20
    init: Annotated[str, Field(min_length=1)] = INIT


class PTuning(_Data):
    """Soft prompt of `tokens` embeddings written by a small network of width `hidden` (Liu et al. 2021)."""

    kind: Literal["p-tuning"]
    tokens: Annotated[int, Field(ge=1, le=512)] = 20
    hidden: Positive = 128


class Lora(_Data):
    """Low-rank updates of rank `rank`, scaled by `alpha`/`rank` (Hu et al. 2021).

    `targets` names the linear layers that get one; None takes PEFT's choice for the architecture.
    """

    kind: Literal["lora"]
    rank: Positive = 8
    alpha: Annotated[float, Field(gt=0)] = 16
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    targets: list[str] | None = None


class Full(_Data):
    """All weights of the model."""

    kind: Literal["full"]


Method = Annotated[PromptTuning | PrefixTuning | PTuning | Lora | Full, Field(discriminator="kind")]


class Data(_Data):
    """What is trained on; everything else of the plugins is held out.

    `plugins` are names or manifest files, `apis` those of their APIs that may be seen (None: all). Of the operators
    (what stands between the operands of a call, else the API's name) exactly one key says which are seen: `first` so
    many in the order of the manifest, `all_but` one, or a list of `operators`. `exchanges` are made per operator, with
    operands from `low` to `high`; `plain` is the share of exchanges without a call, `validation` the share kept for
    validation. `custom` is a JSONL file of {"question", "answer"} that is added.
    """

    plugins: Annotated[list[str], Field(min_length=1)] = ["science"]
    apis: list[str] | None = None
    first: Positive | None = None
    all_but: str | None = None
    operators: Annotated[list[str], Field(min_length=1)] | None = None
    exchanges: Positive = 1000
    plain: Annotated[float, Field(ge=0, lt=1)] = 0.2
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.05
    low: int = 0
    high: int = 100
    custom: str | None = None

    @model_validator(mode="after")
    def _one_choice(self) -> Data:
        """Exactly one way to choose operators; a range that is one."""
        if sum(choice is not None for choice in (self.first, self.all_but, self.operators)) != 1:
            raise ValueError("give exactly one of first, all_but and operators")
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Budget(_Data):
    """How long and how fast: optimiser steps of `batch` exchanges, `accumulate` micro-batches each (AdamW, linear).

    Every `evaluate_every` steps the validation loss is taken and a checkpoint written; after `patience` of them
    without a better one, training stops (None: never).
    """

    steps: Positive
    batch: Positive = 16
    accumulate: Positive = 1
    learning_rate: Annotated[float, Field(gt=0)]
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    warmup: Annotated[int, Field(ge=0)] = 0
    clip: Annotated[float, Field(gt=0)] = 1.0
    evaluate_every: Positive = 25
    patience: Positive | None = None
    mixed_precision: Literal["no", "bf16"] = "no"

    @model_validator(mode="after")
    def _divides(self) -> Budget:
        """A batch splits evenly into its micro-batches."""
        if self.batch % self.accumulate:
            raise ValueError("batch is no multiple of accumulate")
        return self


class TuneConfig(_Data):
    """One tuning run. `track` logs the loss with one of accelerate's trackers as well."""

    tune: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$", description="name of the adapter")]
    model: ModelSpec
    method: Method
    data: Data
    budget: Budget
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    track: Literal["tensorboard", "trackio"] | None = None

    @property
    def resolved(self) -> dict[str, Any]:
        """The configuration with every default, as JSON data."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """SHA-256 over everything that decides the result; a training is resumed only under the same one."""
        decisive = {key: value for key, value in self.resolved.items() if key != "track"}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
