"""Load a causal language model and its tokenizer from a spec: hub id, local folder, GGUF file or bundled model.

Everything is taken exactly as `from_pretrained` takes it; this file adds the checks that turn a wrong path, device or
half a checkpoint into one clear line, and asks the hub once, without its minute of retries. It must not know what
the model is for.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub import HfApi, ResolvedRevision
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, PreTrainedTokenizerBase

from toolkit.errors import UserError
from toolkit.models.bundled import bundled_folder
from toolkit.models.quiet import quiet
from toolkit.models.spec import ModelSpec

__all__ = ["ModelSpec", "load", "pick_device"]
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.safetensors.index.json", "*.bin.index.json")
HUB_TIMEOUT = 10.0


@dataclass(frozen=True)
class _Source:
    """Where the files are: a folder or hub id, the commit (hub only), and whether only the hub's cache is in reach."""

    path: str
    gguf_file: str | None = None
    revision: ResolvedRevision | None = None
    cached_only: bool = False


def load(spec: ModelSpec) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load model and tokenizer; the model is in eval mode, without gradients, on its device.

    Errors: `UserError` when the device is absent, the model cannot be had, its files are damaged or incomplete, or it
    does not fit the device's memory.
    """
    device = pick_device(spec)
    source = _find(spec)
    options: dict[str, Any] = {"revision": source.revision, "local_files_only": source.cached_only}
    options |= {"gguf_file": source.gguf_file, "trust_remote_code": False}
    part = "the tokenizer"
    try:
        with quiet() if source.revision is None or source.cached_only else nullcontext():  # a download shows its bars
            tokenizer = AutoTokenizer.from_pretrained(source.path, **options)
            part = "the weights"
            model = _read_weights(spec, source, options)
            if spec.device_map is None:
                model.to(device)
    except torch.OutOfMemoryError as error:
        raise UserError(
            "the model does not fit the memory of its device",
            spec.path,
            "choose dtype bfloat16, a smaller model, or device_map auto",
        ) from error
    except UserError:
        raise
    except Exception as error:  # transformers raises a dozen kinds for files it cannot use; the user needs one line
        raise _unusable(spec, source, part, error) from error
    model.eval()
    model.requires_grad_(False)
    model.config._commit_hash = None if source.revision is None else source.revision.resolved  # for `describe`
    return cast(PreTrainedModel, model), tokenizer


def pick_device(spec: ModelSpec) -> torch.device:
    """The device a spec means: `auto` is CUDA where there is one, else the CPU. `UserError` when it is absent."""
    if spec.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(spec.device)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(
            f"device {spec.device} is not there: torch {torch.__version__} sees {count} CUDA devices",
            spec.name,
            "choose device auto or cpu" if count == 0 else f"choose cuda:0 to cuda:{count - 1}, auto or cpu",
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UserError("device mps is not there", spec.name, "choose device auto or cpu")
    return device


def _find(spec: ModelSpec) -> _Source:
    """Tell a bundled model, a local folder and a hub id apart, and check what can be checked before reading weights."""
    if spec.bundled is not None:
        return _Source(str(bundled_folder(spec.bundled)))
    folder = Path(spec.path).expanduser()
    if folder.is_dir():
        _check_folder(spec, folder)
        return _Source(str(folder), spec.gguf_file)
    if folder.is_file():
        if folder.suffix != ".gguf" or spec.gguf_file is not None:
            raise UserError("this file is no model", spec.path, "give a model folder, a .gguf file or a hub id")
        return _Source(str(folder.parent), folder.name)
    if spec.path.startswith((".", "/", "~")) or spec.path.count("/") > 1:
        raise UserError("there is no such model folder", spec.path, "correct the path or give a hub id")
    return _ask_hub(spec)


def _check_folder(spec: ModelSpec, folder: Path) -> None:
    """A local folder must hold the named GGUF file, or a configuration and weights."""
    if spec.gguf_file is not None:
        if not (folder / spec.gguf_file).is_file():
            there = ", ".join(sorted(path.name for path in folder.glob("*.gguf"))) or "none"
            raise UserError(f"no GGUF file {spec.gguf_file!r} in this folder", spec.path, f"it has {there}")
        return
    if not (folder / "config.json").is_file():
        raise UserError(
            "this model folder has no config.json",
            spec.path,
            "give the folder that save_pretrained wrote, or gguf_file",
        )
    if not any(any(folder.glob(pattern)) for pattern in WEIGHT_FILES):
        raise UserError(
            "this model folder has no weights", spec.path, "it needs a *.safetensors or *.bin file beside config.json"
        )


def _ask_hub(spec: ModelSpec) -> _Source:
    """Resolve a hub id to one commit for all files; without the hub, only what its cache holds can be used."""
    fix, online = "check path and revision", True
    hub = HfApi()
    try:
        hub.model_info(spec.path, revision=spec.revision, timeout=HUB_TIMEOUT)
    except GatedRepoError as error:
        raise UserError("this model asks for a licence", spec.path, "accept it on its page and log in") from error
    except RevisionNotFoundError as error:
        raise UserError(f"this model has no revision {spec.revision!r}", spec.path, fix) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise UserError("this is neither a folder here nor a model on the hub", spec.path, fix) from error
    except Exception:  # no network, a proxy's answer, offline mode: the copy in the hub's cache may still serve
        online = False
    try:
        revision = hub.resolve_revision(spec.path, revision=spec.revision, local_files_only=not online)
    except RevisionResolutionError as error:
        raise _not_had(spec) from error
    return _Source(spec.path, spec.gguf_file, revision, cached_only=not online)


def _read_weights(spec: ModelSpec, source: _Source, options: dict[str, Any]) -> Any:
    """Read the weights in the spec's dtype; refuse a checkpoint that lacks some, for those would be random numbers."""
    extra: dict[str, Any] = {} if spec.device_map is None else {"device_map": spec.device_map}
    if source.gguf_file is not None:
        extra["quantization_config"] = GgufConfig(dequantize=True)  # plain tensors: tuning and saving need them
    dtype = "auto" if spec.dtype == "auto" else getattr(torch, spec.dtype)
    factory: Any = AutoModelForCausalLM  # its annotations leave out output_loading_info
    model, report = factory.from_pretrained(source.path, dtype=dtype, output_loading_info=True, **options, **extra)
    if missing := sorted(report["missing_keys"]):
        raise UserError(
            f"the checkpoint lacks {len(missing)} of the model's weights ({missing[0]}, ...)",
            spec.path,
            "download or save it again: it is incomplete or of another architecture",
        )
    return model


def _not_had(spec: ModelSpec) -> UserError:
    return UserError(
        "this model could not be had: the hub cannot be reached and its cache on this machine lacks the model",
        spec.path,
        "connect to the network, or set path to a local folder or to bundled:smollm2-135m-instruct",
    )


def _unusable(spec: ModelSpec, source: _Source, part: str, error: Exception) -> UserError:
    """One line for a model that cannot be read."""
    if isinstance(error, OSError) and source.cached_only:
        return _not_had(spec)
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__).rstrip(" .:")
    return UserError(
        f"{part} of this model cannot be loaded: {first}", spec.path, "see that it is a complete checkpoint"
    )
