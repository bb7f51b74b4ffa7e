"""One tuning run from configuration to adapter folder: data, method, training, and the adapter put in place at the end.

Everything is made in `<out>.partial` and renamed, so an adapter folder is whole or absent and an existing one is never
touched before its successor is ready. Knows nothing of command lines or experiments.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from filelock import FileLock, Timeout

from toolkit.errors import UserError
from toolkit.models.describe import describe
from toolkit.models.load import load, pick_device
from toolkit.models.quiet import quiet
from toolkit.tuning import checkpoint, dataset
from toolkit.tuning.adapter import FACTS
from toolkit.tuning.checkpoint import State
from toolkit.tuning.config import TuneConfig
from toolkit.tuning.methods import apply, trainable
from toolkit.tuning.split import Split
from toolkit.tuning.train import Training, Watch

ADAPTER = "adapter"


@dataclass(frozen=True)
class Tuned:
    """What a tuning run left: the folder, and the facts that `tuning.json` holds."""

    folder: Path
    facts: dict[str, Any]


def partial_folder(out: Path) -> Path:
    """Where the run works until it is done."""
    return out.with_name(f"{out.name}.partial")


def tune(config: TuneConfig, out: Path, beside: Path, watch: Watch, overwrite: bool = False) -> Tuned:
    """Train, or go on with an unfinished training, and leave the adapter in `out`.

    `beside` is the folder that relative paths of the configuration start from. UserError when `out` exists and
    `overwrite` is not set; RunError when the loss is not finite, with `out` untouched.
    """
    if out.exists() and not overwrite:
        raise UserError("this exists already", str(out), "choose another --out, or give --overwrite")
    work, main = partial_folder(out), os.environ.get("RANK", "0") == "0"  # of several processes, one owns the folder
    work.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(work / ".lock", timeout=0) if main else nullcontext(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # transformers' own, on names that PEFT still uses
            facts = _train(config, work, beside, watch)
    except Timeout:
        raise UserError("another process is training here", str(work), "wait for it, or choose another --out") from None
    if main:
        if out.exists():
            shutil.rmtree(out)
        (work / ADAPTER).rename(out)
        shutil.rmtree(work)
    return Tuned(out, facts)


def _train(config: TuneConfig, work: Path, beside: Path, watch: Watch) -> dict[str, Any]:
    """Everything up to a finished adapter in `work/adapter`; its facts."""
    checkpoint.read(work, config.digest)  # refuses another configuration before anything is loaded
    model, tokenizer = load(config.model)
    with quiet():
        made, parts = dataset.build(config.data, tokenizer, config.seed, beside)
    facts: dict[str, Any] = {"base": describe(model, tokenizer, config.model)}
    torch.manual_seed(config.seed)  # where a method starts from random numbers
    tuned = apply(config.method, model, tokenizer)
    accelerator = _accelerator(config, work)
    splits = (made["train"].to_list(), made["validation"].to_list())
    training = Training(tuned, *splits, config.budget, config.seed, work, config.digest, accelerator)
    state = training.run(watch)
    facts |= _facts(config, state, sum(p.numel() for p in trainable(tuned).values()))
    if accelerator.is_main_process:
        _save(work / ADAPTER, config, tuned, tokenizer, facts, made, parts)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return facts


def _save(
    adapter: Path, config: TuneConfig, tuned: Any, tokenizer: Any, facts: dict[str, Any], made: Any, parts: Split
) -> None:
    """Write the adapter, its dataset and its facts."""
    shutil.rmtree(adapter, ignore_errors=True)
    with quiet():
        tuned.save_pretrained(str(adapter))
        if config.method.kind == "full":
            tokenizer.save_pretrained(str(adapter))
        fingerprint = dataset.save(made, parts, adapter / "dataset")
    facts["data"] = {
        "fingerprint": fingerprint,
        "seen": list(parts.seen),
        "held_out": list(parts.held_out),
        "held_out_apis": list(parts.apis),
        "rows": {name: len(part) for name, part in made.items()},
    }
    (adapter / FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _accelerator(config: TuneConfig, work: Path) -> Accelerator:
    """Accelerate set up for the configuration's device, precision and tracker."""
    if "RANK" not in os.environ:  # accelerate keeps one state per process, and refuses another precision
        AcceleratorState._reset_state(True)
    accelerator = Accelerator(
        mixed_precision=config.budget.mixed_precision,
        cpu=pick_device(config.model).type == "cpu",
        log_with=config.track,
        project_dir=str(work),
    )
    if config.track is not None:
        accelerator.init_trackers(config.tune)
    return accelerator


def _facts(config: TuneConfig, state: State, parameters: int) -> dict[str, Any]:
    """What a table of costs and a reader need to know of a training."""
    return {
        "name": config.tune,
        "method": config.method.model_dump(mode="json"),
        "config": config.resolved,
        "digest": config.digest,
        "trainable": parameters,
        "tokens": state.tokens,
        "seconds": round(state.seconds, 1),
        "steps": state.step,
        "best_step": state.best_step,
        "losses": [round(loss, 5) for loss in state.losses],
        "validation": [[step, round(loss, 5)] for step, loss in state.validation],
        "packages": {name: version(name) for name in ("peft", "accelerate", "torch", "transformers", "datasets")},
    }
