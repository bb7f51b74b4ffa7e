"""What a configuration says about one model: where its weights are, at which revision, and how to hold them.

Data only. This file must not import torch or transformers, so that configurations are checked (and `toolkit plan`
answers) without the seconds those imports take; whether the model can be had at all is found out by `load`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

DType = Literal["float32", "bfloat16", "float16", "auto"]
BUNDLED = "bundled:"


class ModelSpec(BaseModel):
    """One model as a configuration names it; frozen, so that it can be a key.

    `path` is a hub id, a local folder, a local `.gguf` file, or `bundled:NAME` for a model that comes with the toolkit;
    `gguf_file` names a GGUF file within the folder or hub repository, as `from_pretrained` takes it. `device` `auto` is
    the first CUDA device, else the CPU; `device_map` (for instance `auto`) spreads the model over several instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, description="how matrices and records call the model")]
    path: Annotated[str, Field(min_length=1)]
    revision: str | None = None
    gguf_file: str | None = None
    dtype: DType = "float32"
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?|mps)$")] = "auto"
    device_map: str | None = None

    @model_validator(mode="after")
    def _one_placement(self) -> ModelSpec:
        """Refuse a device beside a device map: two answers to one question."""
        if self.device_map is not None and self.device != "auto":
            raise ValueError("device and device_map exclude each other: leave one out")
        return self

    @property
    def bundled(self) -> str | None:
        """The name after `bundled:`, or None for any other path."""
        return self.path.removeprefix(BUNDLED) if self.path.startswith(BUNDLED) else None
