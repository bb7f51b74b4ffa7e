"""Slots by memory, and running out of it without losing a row."""

from __future__ import annotations

import pytest
import rig
import torch
from tiny import tiny_model, tiny_tokenizer

from toolkit.decoding import Interceptor
from toolkit.decoding.memory import bytes_per_row, free_bytes, slots_that_fit
from toolkit.errors import RunError

TOKENIZER = tiny_tokenizer()


def test_bytes_per_row_are_measured():
    interceptor = Interceptor(tiny_model("llama"), TOKENIZER, rig.toolbox())
    position = 3 * 2 * 2 * 8 * 4  # layers x (keys, values) x heads x size x float32
    assert interceptor.engine.row_bytes == bytes_per_row(position, len(TOKENIZER))


def test_the_stated_bytes_per_position_of_gpt_neo_125m():
    """scripts/bench/README.md states 73,728 for twelve layers of width 768; two such layers are measured here."""
    model = tiny_model(
        "gpt_neo", hidden_size=768, num_heads=12, num_layers=2, attention_types=[[["global", "local"], 1]]
    )
    model.config.attention_layers = ["global", "local"]
    interceptor = Interceptor(model, TOKENIZER, rig.toolbox())
    assert interceptor.engine.row_bytes == bytes_per_row(73_728 * 2 // 12, len(TOKENIZER))


def test_slots_fit_a_share_of_free_memory():
    cpu = torch.device("cpu")
    assert slots_that_fit(0.5, cpu, free_bytes(cpu) // 8, 100) in (3, 4, 5)
    assert slots_that_fit(1e-9, cpu, 1 << 40, 100) == 1
    assert slots_that_fit(0.9, cpu, 1, 64) == 64


def failing(interceptor, above):
    """Make every pass with more than `above` slots run out of memory, the first three passes excepted."""
    forward, passes = interceptor.engine.forward, []

    def run(feeds):
        passes.append(len(feeds))
        if len(passes) > 3 and interceptor.engine.slots.count > above:
            raise torch.OutOfMemoryError("out of memory")
        return forward(feeds)

    interceptor.engine.forward = run


def test_out_of_memory_halves_the_slots_and_loses_nothing():
    model = tiny_model("gpt_neo")
    whole = Interceptor(model, TOKENIZER, rig.toolbox(), slots=16)
    expected = {r.id: rig.plain(r) for r in whole.run(rig.requests(TOKENIZER, 24))}
    short = Interceptor(model, TOKENIZER, rig.toolbox(), slots=16)
    failing(short, above=4)
    got = [rig.plain(reply) for reply in short.run(rig.requests(TOKENIZER, 24))]
    assert len(got) == 24 and {reply[0]: reply for reply in got} == expected
    assert short.engine.slots.count == 4


def test_one_row_that_does_not_fit_is_an_error():
    interceptor = Interceptor(tiny_model("llama"), TOKENIZER, rig.toolbox(), slots=4)
    failing(interceptor, above=0)
    with pytest.raises(RunError, match="not even one row"):
        list(interceptor.run(rig.requests(TOKENIZER, 8)))
