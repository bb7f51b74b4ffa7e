"""The interceptor on the real SmolLM2-135M: equal to the plain loop, and to itself in any company."""

from __future__ import annotations

import pytest
import rig

from toolkit.calls.syntax import ARROW
from toolkit.decoding import GREEDY, Interceptor, Limits, ReferenceLoop, Request, Sampling
from toolkit.models.load import load
from toolkit.models.spec import ModelSpec
from toolkit.plugins.examples import example_fragment
from toolkit.tools.builtin import builtin
from toolkit.tools.toolbox import Toolbox

pytestmark = pytest.mark.slow
SHOT = example_fragment("What is 123 + 456?", "123 + 456 is [MATH(123 + 456) -> 579] 579.", ARROW)
WARM = Sampling(0.9, top_k=50)


@pytest.fixture(scope="module")
def smollm2():
    return load(ModelSpec(name="SmolLM2-135M", path="bundled:smollm2-135m-instruct"))


def questions(tokenizer, count, sampling, prefix=None):
    """Requests for sums, in tokens that follow the shot."""
    for n in range(count):
        prompt = tokenizer.encode(f"<Guest> What is {7 * n + 3} {'+*-'[n % 3]} {n + 4}?\n<AI>")
        yield Request(f"q{n}", prompt, prefix, seed=n, sampling=sampling, limits=Limits(26))


def decode(model, tokenizer, slots, count, sampling):
    interceptor = Interceptor(model, tokenizer, Toolbox(builtin()), slots=slots)
    prefix = interceptor.prefix(SHOT.ids(tokenizer))
    return {r.id: r for r in interceptor.run(questions(tokenizer, count, sampling, prefix))}


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_equals_the_plain_loop(smollm2, sampling):
    model, tokenizer = smollm2
    loop = ReferenceLoop(model, tokenizer, Toolbox(builtin()))
    plain = {q.id: rig.plain(loop.reply(q, SHOT.ids(tokenizer))) for q in questions(tokenizer, 2, sampling)}
    for slots in (1, 4, 32):
        got = decode(model, tokenizer, slots, 2, sampling)
        assert {name: rig.plain(reply) for name, reply in got.items()} == plain
    assert any(call.outcome.ok for reply in got.values() for call in reply.calls)


def test_twenty_rows_alone_and_together(smollm2):
    model, tokenizer = smollm2
    alone, together = (decode(model, tokenizer, slots, 20, WARM) for slots in (1, 20))
    assert {name: r.text for name, r in alone.items()} == {name: r.text for name, r in together.items()}
    assert {name: r.ids for name, r in alone.items()} == {name: r.ids for name, r in together.items()}
