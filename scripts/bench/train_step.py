"""Tokens per second and memory of one training step, for the shapes of the three GPT-Neo models; random weights.

    python -m scripts.bench.train_step             # on a GPU; without one every figure is unmeasured

Weights do not change the cost of a step, so nothing is downloaded. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, GPTNeoConfig

from toolkit.tuning.batches import Batch
from toolkit.tuning.config import Full, Lora, PrefixTuning
from toolkit.tuning.loss import summed_loss
from toolkit.tuning.methods import apply, trainable

# hidden size, layers, heads as the published configurations of gpt-neo-125m, -1.3B and -2.7B have them
SHAPES = {"125M": (768, 12, 12), "1.3B": (2048, 24, 16), "2.7B": (2560, 32, 20)}
METHODS: dict[str, Any] = {
    "prefix, 10": PrefixTuning(kind="prefix", tokens=10),
    "LoRA, 8": Lora(kind="lora", rank=8),
    "full": Full(kind="full"),
}


class Words:
    """Stands in for a tokenizer: the text a prefix starts from has any ids."""

    def encode(self, text: str, **_: object) -> list[int]:
        """One id per word."""
        return [100 + len(word) for word in text.split()]


def model_of(size: str) -> Any:
    """A GPT-Neo of that size with random float32 weights on the GPU."""
    hidden, layers, heads = SHAPES[size]
    kinds: Any = [[["global", "local"], layers // 2]]
    config = GPTNeoConfig(hidden_size=hidden, num_layers=layers, num_heads=heads, attention_types=kinds)
    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(config, dtype=torch.float32).requires_grad_(False)


def measure(size: str, method: str, batch: int, width: int, steps: int) -> tuple[float, float]:
    """(tokens per second, peak GiB) of forward, backward and AdamW under bfloat16 autocast."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model = apply(METHODS[method], model_of(size), Words())
    optimizer = torch.optim.AdamW(trainable(model).values(), lr=1e-4)
    accelerator = Accelerator(mixed_precision="bf16")
    model, optimizer = accelerator.prepare(model, optimizer)
    ids = torch.randint(50257, (batch, width), device="cuda")
    data = Batch(ids, torch.ones_like(ids), ids)
    begun = 0.0
    for step in range(-3, steps):
        if step == 0:
            torch.cuda.synchronize()
            begun = time.perf_counter()
        with accelerator.autocast():
            loss = summed_loss(model, data) / ids.numel()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    speed = steps * ids.numel() / (time.perf_counter() - begun)
    return speed, torch.cuda.max_memory_allocated() / 2**30


def main() -> None:
    """Measure every size and method, or say that there is nothing to measure on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32, help="exchanges in a step")
    parser.add_argument("--width", type=int, default=64, help="tokens of an exchange")
    parser.add_argument("--steps", type=int, default=20, help="steps timed, after three that are not")
    given = parser.parse_args()
    there = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if there else "no GPU: unmeasured"
    print(f"{given.batch} exchanges of {given.width} tokens, bfloat16 autocast, {device}\n")
    print("| GPT-Neo | method | tokens/s | peak GiB |\n| --- | --- | --- | --- |")
    for size in SHAPES:
        for method in METHODS:
            figures = "unmeasured | unmeasured"
            if there:
                try:
                    figures = "{:,.0f} | {:.1f}".format(*measure(size, method, given.batch, given.width, given.steps))
                except torch.OutOfMemoryError:
                    figures = "out of memory | out of memory"
            print(f"| {size} | {method} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
