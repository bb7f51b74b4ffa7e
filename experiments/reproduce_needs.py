"""What reproducing the tables needs of a machine: weights, memory, disk, time; and whether this one has it.

The numbers are estimates from the models' shapes and say so. torch and the hub are imported only where they are used.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.operators.config import ModelConfig, OperatorsConfig
from toolkit.errors import RunError, UserError

# (layers, hidden size) of the hub's GPT-Neo configurations; vocabulary 50257, 2048 positions. The parameter counts that
# follow (125.2, 1315.6 and 2651.3 million) are those of the checkpoints.
SHAPES = {
    "EleutherAI/gpt-neo-125m": (12, 768),
    "EleutherAI/gpt-neo-1.3B": (24, 2048),
    "EleutherAI/gpt-neo-2.7B": (32, 2560),
}
ROW_TOKENS = 364  # longest `paper` row: a prompt of 300 and a reply of 64 tokens, all held by the row itself
STEPS = 45  # decode steps of an average row, its share of prompt work included
BANDWIDTH = 0.5e12  # bytes per second a mid-range data-centre GPU really reads; our assumption
OVERHEAD = 0.025  # seconds of Python and kernel launches per step; our assumption
SAMPLE_BYTES = 1500
WEIGHTS = ["*.json", "*.txt", "*.safetensors"]
GB = 1e9


@dataclass(frozen=True)
class Needs:
    """Of one configuration: samples, bytes of weights to fetch, GPU bytes at most, disk bytes, rough seconds."""

    samples: int
    weights: int
    gpu: int
    disk: int
    seconds: float


def shape(model: ModelConfig) -> tuple[int, int]:
    """(layers, hidden size) of a known hub model or of a local folder's config.json."""
    if model.path in SHAPES:
        return SHAPES[model.path]
    path = Path(model.path) / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return int(config["num_layers"]), int(config["hidden_size"])
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            "its size is not known", model.path, f"use {', '.join(SHAPES)} or a GPT-Neo folder with a config.json"
        ) from error


def parameters(layers: int, hidden: int) -> int:
    """Parameters of a GPT-Neo model: token and position embeddings, blocks of 12 h^2 + 10 h, the last norm."""
    return (50257 + 2048) * hidden + layers * (12 * hidden**2 + 10 * hidden) + 2 * hidden


def needs_of(config: OperatorsConfig) -> Needs:
    """Estimates for one configuration; weights are counted in float32, as the checkpoints hold them."""
    cells = len(config.variants) * len(config.shots or range(6)) * len(config.skills or range(6))
    per_model = cells * config.trials
    weights = gpu = 0
    seconds = 0.0
    for model in config.models:
        layers, hidden = shape(model)
        size = 4 * parameters(layers, hidden)
        cache = config.slots * ROW_TOKENS * 2 * layers * hidden * 4
        weights, gpu = weights + size, max(gpu, size + cache)
        seconds += per_model / config.slots * STEPS * (OVERHEAD + size / BANDWIDTH)
    samples = per_model * len(config.models)
    fetched = weights if any(model.path in SHAPES for model in config.models) else 0
    return Needs(samples, weights, gpu, fetched + samples * SAMPLE_BYTES * 2, seconds)


def show(plan: Sequence[tuple[Path, Needs]], out: Path) -> None:
    """Print the plan with its estimates."""
    print(f"Reproduction of the published operator tables, into {out}")
    print("configuration                              samples   weights   GPU memory   disk     time")
    for path, needs in plan:
        print(
            f"{path!s:<42} {needs.samples:>7}   {needs.weights / GB:>4.1f} GB   {needs.gpu / GB:>7.1f} GB"
            f"   {needs.disk / GB:>4.1f} GB   {needs.seconds / 60:>4.0f} min"
        )
    total = sum(needs.seconds for _, needs in plan)
    print(f"about {total / 3600:.1f} hours in all. Time is a rough estimate for a data-centre GPU, not a measurement.")
    print("Each: check the machine, fetch weights, run as many trials as were published, compare like for like,")
    print("run the remaining trials, compare, report, verify. The same command resumes.")


def check_machine(needs: Sequence[Needs], out: Path, cpu: bool) -> None:
    """Refuse a machine that lacks a GPU, GPU memory or disk space; each message says how much is missing."""
    place = next(folder for folder in [out.absolute(), *out.absolute().parents] if folder.exists())
    disk, free = sum(each.disk for each in needs), shutil.disk_usage(place).free
    if free < disk:
        raise UserError(f"about {disk / GB:.1f} GB of disk are needed, {free / GB:.1f} GB are free", str(place))
    if cpu:
        print("machine: without a GPU, as asked")
        return
    import torch

    if not torch.cuda.is_available():
        raise UserError("no CUDA GPU was found", fix="run this on a GPU machine, or pass --cpu for small stand-ins")
    memory, wanted = torch.cuda.mem_get_info()[0], max(each.gpu for each in needs)
    if memory < wanted:
        raise UserError(
            f"about {wanted / GB:.1f} GB of GPU memory are needed, {memory / GB:.1f} GB are free",
            torch.cuda.get_device_name(),
            "lower `slots` in the configuration, or leave out the largest model",
        )
    print(f"machine: {torch.cuda.get_device_name()}, {memory / GB:.1f} GB free, disk {free / GB:.0f} GB free")


def fetch(config: OperatorsConfig) -> None:
    """Fetch weights and tokenizers of hub models into the hub's own cache; local folders are left alone."""
    from huggingface_hub import snapshot_download

    for model in config.models:
        if Path(model.path).is_dir():
            continue
        print(f"fetching {model.path}", flush=True)
        try:
            folder = Path(snapshot_download(model.path, revision=model.revision, allow_patterns=WEIGHTS))
            if not any(folder.glob("*.safetensors")):
                snapshot_download(model.path, revision=model.revision, allow_patterns=["*.bin"])
        except Exception as error:  # the hub's client raises errors of several libraries
            raise RunError(f"{model.path} could not be fetched: {error}") from error
