"""A model spread over devices by accelerate: hooks move its layers' inputs, and a step follows them."""

from __future__ import annotations

from pathlib import Path

import torch
from accelerate import dispatch_model
from tiny import tiny_model, tiny_tokenizer

from toolkit.decoding.interceptor import Interceptor
from toolkit.decoding.request import Limits, Request
from toolkit.decoding.slots import Slots
from toolkit.decoding.step import Feed, Step
from toolkit.tools.builtin import builtin
from toolkit.tools.toolbox import Toolbox


def test_a_step_on_another_device_is_the_same_layout_made_once() -> None:
    step = Step(Slots(4), [Feed(2, 3, [7, 8], None, True), Feed(0, 1, [9], None, True)], torch.device("cpu"))
    there = step.on(torch.device("meta"))
    assert step.on(torch.device("cpu")) is step and step.on(torch.device("meta")) is there is not step
    assert there.at.device.type == "meta" and there.at.shape == step.at.shape and there.logits_rows == step.logits_rows


def test_a_dispatched_model_gives_the_same_replies(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    requests = [Request(f"r{n}", tokenizer.encode(f"What is {n}?"), limits=Limits(8)) for n in range(5)]

    def replies(model: object) -> list[tuple[str, list[int]]]:
        interceptor = Interceptor(model, tokenizer, Toolbox(builtin()), slots=2)
        return sorted((reply.id, list(reply.ids)) for reply in interceptor.run(requests))

    expected = replies(tiny_model("llama"))
    places = dict.fromkeys(("model.embed_tokens", "model.rotary_emb", "model.layers.0", "lm_head"), "cpu")
    places |= dict.fromkeys(("model.layers.1", "model.layers.2", "model.norm"), "disk")
    dispatched = dispatch_model(tiny_model("llama"), places, main_device="cpu", offload_dir=tmp_path)
    assert replies(dispatched) == expected
