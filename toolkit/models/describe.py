"""State exactly which model and tokenizer a run used: the part of a run's header that makes it reproducible.

The weights' hash is taken from the tensors in memory, not from a file: the same weights hash the same however they
were packed (GGUF, safetensors, shards), and a changed adapter or a merged one shows. Knows nothing of runs.
"""

from __future__ import annotations

import hashlib
import json
import platform
from importlib.metadata import version
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from toolkit.models.spec import ModelSpec

PACKAGES = ("heldout-toolkit", "torch", "transformers", "tokenizers", "numpy")


def describe(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> dict[str, Any]:
    """A dictionary of JSON values: spec, commit, hashes, size, dtype, device, attention implementation, versions.

    `commit` is the hub's, None for a local or bundled model. Costs about a second per GiB of weights.
    """
    parameters = list(model.parameters())
    return {
        "name": spec.name,
        "path": spec.path,
        "revision": spec.revision,
        "gguf_file": spec.gguf_file,
        "commit": getattr(model.config, "_commit_hash", None),
        "class": type(model).__name__,
        "weights_sha256": weights_sha256(model),
        "tokenizer_sha256": tokenizer_sha256(tokenizer),
        "parameters": sum(parameter.numel() for parameter in parameters),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device) if spec.device_map is None else spec.device_map,
        "device_name": _device_name(model.device),
        "attention": model.config._attn_implementation,
        "versions": {"python": platform.python_version()} | {package: version(package) for package in PACKAGES},
    }


def weights_sha256(model: torch.nn.Module) -> str:
    """SHA-256 over every parameter once (tied ones too), by name: name, dtype, shape, bytes."""
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        digest.update(f"{name} {parameter.dtype} {tuple(parameter.shape)}\n".encode())
        if parameter.numel():
            raw = parameter.detach().to("cpu").contiguous().flatten().view(torch.uint8)
            digest.update(raw.numpy().data)
    return digest.hexdigest()


def tokenizer_sha256(tokenizer: PreTrainedTokenizerBase) -> str:
    """SHA-256 of how the tokenizer cuts text: its serialised form, less padding and truncation, which calls change.

    A tokenizer without a serialised form (pure Python) is hashed by its class and vocabulary.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        form: dict[str, Any] = {"class": type(tokenizer).__name__, "vocab": tokenizer.get_vocab()}
    else:
        form = json.loads(backend.to_str())
        for key in ("padding", "truncation"):
            form.pop(key, None)
    return hashlib.sha256(
        json.dumps(form, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _device_name(device: torch.device) -> str:
    """What the device calls itself: two GPUs of different kinds give different last bits."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
