"""What the interceptor computes with an adapter against PEFT's own forward pass, and adapters of strangers."""

from __future__ import annotations

import json

import pytest
import torch
from peft import PeftModel, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from tiny import tiny_folder, tiny_model, tiny_tokenizer
from transformers import AutoModelForCausalLM

from toolkit.decoding import Interceptor, Limits, Request
from toolkit.decoding.engine import Engine
from toolkit.errors import UserError
from toolkit.plugins.examples import example_fragment, turn
from toolkit.tools.builtin import builtin
from toolkit.tools.toolbox import Toolbox
from toolkit.tuning.adapter import check_base, merge, prefix_of, read_adapter
from toolkit.tuning.methods import flatten

METHODS = ("prompt", "prefix", "p-tuning", "lora", "full")
EXAMPLE = example_fragment("What is 1 + 2?", "1 + 2 is [MATH(1 + 2) -> 3] 3.")


def base(folder):
    return AutoModelForCausalLM.from_pretrained(folder).eval().requires_grad_(False)


def own_logits(adapters, bases, family, method, ids):
    """PEFT's own forward over the whole text: logits [vocabulary] after its last token."""
    folder = adapters[family, method]
    model = base(folder) if method == "full" else PeftModel.from_pretrained(base(bases[family]), folder).eval()
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).logits[0, -1]


def interceptor_with(adapters, bases, family, method):
    """An interceptor with the adapter, and the prefix it becomes."""
    folder, tokenizer = adapters[family, method], tiny_tokenizer()
    if method == "full":
        return Interceptor(base(folder), tokenizer, Toolbox(builtin())), None
    adapter, model = read_adapter(folder), base(bases[family])
    check_base(adapter, model, tokenizer)
    if not adapter.is_prefix:
        return Interceptor(merge(adapter, model), tokenizer, Toolbox(builtin())), None
    made = Interceptor(model, tokenizer, Toolbox(builtin()))
    return made, prefix_of(adapter, made.engine)


def first_logits(interceptor, prompt, prefix):
    """Logits on which the interceptor's loop samples its first token."""
    seen = []

    def choose(logits, rows):
        seen.append(logits[0].clone())
        return [0] * len(rows)

    list(interceptor.run([Request("r", prompt, prefix=prefix, limits=Limits(model_tokens=1))], choose))
    return seen[0]


@pytest.mark.parametrize("shots", [0, 1])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", ["gpt_neo", "llama"])
def test_the_loop_computes_what_peft_computes(adapters, bases, family, method, shots):
    tokenizer = tiny_tokenizer()
    prompt = tokenizer.encode(turn("What is 15 + 7?"), add_special_tokens=False)
    fragment = EXAMPLE.ids(tokenizer) * shots
    own = own_logits(adapters, bases, family, method, [*fragment, *prompt])
    interceptor, prefix = interceptor_with(adapters, bases, family, method)
    if fragment:
        prefix = interceptor.prefix(fragment, prefix)
    got = first_logits(interceptor, prompt, prefix)
    assert torch.allclose(got, own, atol=2e-4), float((got - own).abs().max())
    bare = base(bases[family])(input_ids=torch.tensor([[*fragment, *prompt]])).logits[0, -1]
    assert float((got - bare).abs().max()) > 0.01  # peft#2123: an adapter that is silently ignored


def plain_peft(kind, folder, family="llama"):
    """An adapter that PEFT alone made and saved."""
    config = {"prompt": PromptTuningConfig, "prefix": PrefixTuningConfig}[kind](
        task_type="CAUSAL_LM", num_virtual_tokens=4
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = get_peft_model(tiny_model(family), config).eval()
    model.save_pretrained(str(folder))
    return model


@pytest.mark.parametrize("family", ["gpt_neo", "llama"])
@pytest.mark.parametrize("kind", ["prompt", "prefix"])
def test_an_adapter_saved_by_plain_peft_works(tmp_path, kind, family):
    model = plain_peft(kind, tmp_path, family)
    prompt = tiny_tokenizer().encode(turn("What is 15 + 7?"), add_special_tokens=False)
    own = model(input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt))).logits[0, -1]
    interceptor = Interceptor(tiny_model(family), tiny_tokenizer(), Toolbox(builtin()))
    got = first_logits(interceptor, prompt, prefix_of(read_adapter(tmp_path), interceptor.engine))
    assert torch.allclose(got, own, atol=2e-4)


def test_a_prefix_begins_as_the_activations_of_its_text():
    engine = Engine(tiny_model("llama"), 1)
    prefix = engine.prefix([5, 6, 7])
    heads, _, size = prefix.layers[0][0].shape
    flat = flatten(prefix).view(3, len(prefix.layers), 2, heads, size)
    assert torch.equal(flat[1, 2, 0], prefix.layers[2][0][:, 1])
    assert torch.equal(flat[2, 1, 1], prefix.layers[1][1][:, 2])


def test_an_adapter_of_another_size_is_refused(tmp_path, adapters):
    wide = Engine(tiny_model("gpt2"), 1)  # three layers of four heads, where llama has two
    with pytest.raises(UserError, match="numbers per position"):
        prefix_of(read_adapter(adapters["llama", "prefix"]), wide)
    plain_peft("prompt", tmp_path)
    engine = Engine(tiny_model("llama", hidden_size=64, head_dim=16), 1)
    with pytest.raises(UserError, match="embeddings of size 32, the model of 64"):
        prefix_of(read_adapter(tmp_path), engine)
    with pytest.raises(UserError, match="does not fit"):
        merge(read_adapter(adapters["llama", "lora"]), tiny_model("llama", hidden_size=64, head_dim=16))


def test_an_adapter_of_other_weights_or_tokenizer_is_refused(adapters, bases, tmp_path):
    adapter = read_adapter(adapters["llama", "prompt"])
    with pytest.raises(UserError, match="another base model"):
        check_base(adapter, base(tiny_folder(tmp_path / "other", "llama", seed=9)), tiny_tokenizer())
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["zebra"])
    with pytest.raises(UserError, match="another tokenizer"):
        check_base(adapter, base(bases["llama"]), tokenizer)


def test_folders_that_are_no_adapter_are_refused(tmp_path, adapters):
    with pytest.raises(UserError, match="no adapter_config"):
        read_adapter(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        read_adapter(tmp_path)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "PROMPT_TUNING"}))
    with pytest.raises(UserError, match="weights cannot be read"):
        prefix_of(read_adapter(tmp_path), Engine(tiny_model("llama"), 1))
    with pytest.raises(UserError, match="nothing to merge"):
        merge(read_adapter(adapters["llama", "prefix"]), tiny_model("llama"))
