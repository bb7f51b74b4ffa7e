"""The interceptor equals the plain reference loop, row by row."""

from __future__ import annotations

import itertools
import random

import pytest
import rig
from tiny import FAMILIES, tiny_model, tiny_tokenizer

from toolkit.calls.syntax import ARROW, EQUALS
from toolkit.decoding import PAPER, STRICT, Interceptor, ReferenceLoop

TOKENIZER = tiny_tokenizer()
PREFIXES = [TOKENIZER.encode(text) for text in ("Some shots here, longer than a window.\n", "Others.\n")]


def check(
    family, *, policy=STRICT, syntax=ARROW, slots=4, count=16, shuffle=False, temperature=1.0, tool=None, **limits
):
    """Run both ways and compare; returns the replies."""
    model, box = tiny_model(family), rig.toolbox(**(tool or {}))
    interceptor = Interceptor(model, TOKENIZER, box, syntax, policy, slots=slots)
    prefixes = [interceptor.prefix(ids) for ids in PREFIXES]
    choice = [0, 1, None]

    def wanted():
        prefix_of = lambda n: None if choice[n % 3] is None else prefixes[n % 3]  # noqa: E731
        rows = list(rig.requests(TOKENIZER, count, prefix_of=prefix_of, temperature=temperature, **limits))
        if shuffle:
            random.Random(1).shuffle(rows)
        return rows

    loop = ReferenceLoop(model, TOKENIZER, rig.toolbox(**((tool or {}) | {"seconds": 0.0})), syntax, policy)
    got = {reply.id: reply for reply in interceptor.run(wanted())}
    assert len(got) == count
    for request in wanted():
        expected = loop.reply(request, [] if request.prefix is None else request.prefix.ids)
        assert rig.plain(got[request.id]) == rig.plain(expected)
    return list(got.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_sampled(family):
    replies = check(family)
    assert sum(len(reply.calls) for reply in replies) > 3, "the test must see calls"


@pytest.mark.parametrize(("slots", "shuffle"), [(1, False), (4, True), (32, False), (32, True)])
def test_slots_and_admission_order(slots, shuffle):
    check("gpt_neo", slots=slots, shuffle=shuffle)


def test_greedy():
    check("gpt_neo", temperature=None)
    check("llama", temperature=None)


@pytest.mark.parametrize("family", ["gpt_neo", "llama"])
def test_late_results(family):
    replies = check(family, tool={"inline": False, "seconds": 0.02}, slots=5)
    assert any(reply.calls for reply in replies)


@pytest.mark.parametrize("budget", [1, 5, 9, 13])
def test_token_budget_edge(budget):
    replies = check("gpt_neo", model_tokens=budget, count=12)
    assert all(sum(reply.source) <= budget + 1 for reply in replies)


def test_result_longer_than_the_window():
    replies = check("gpt_neo", tool={"times": 8}, result_tokens=40)
    assert any(sum(1 - s for s in reply.source) > 20 for reply in replies)


@pytest.mark.parametrize("context", [30, 60, 80])
def test_context_edge(context):
    replies = check("gpt_neo", context=context, tool={"times": 3})
    assert any(reply.finish == "context" for reply in replies)


def test_call_limit():
    assert any(reply.finish == "calls" for reply in check("llama", calls=1, model_tokens=60))


@pytest.mark.parametrize("failure", ["inject", "continue", "end"])
def test_failed_calls(failure):
    replies = check("llama", policy=STRICT.with_failure(failure), count=40)
    assert any(not call.outcome.ok for reply in replies for call in reply.calls)


@pytest.mark.parametrize(("syntax", "failure"), itertools.product([ARROW, EQUALS], ["continue", "inject"]))
def test_paper_policy(syntax, failure):
    replies = check("gpt_neo", policy=PAPER.with_failure(failure), syntax=syntax, count=40, model_tokens=16)
    assert any(call.outcome.ok for reply in replies for call in reply.calls)


def test_alone_equals_in_company():
    model, box = tiny_model("gpt_neo"), rig.toolbox()
    together = {r.id: rig.plain(r) for r in Interceptor(model, TOKENIZER, box).run(rig.requests(TOKENIZER, 12))}
    for request in rig.requests(TOKENIZER, 12):
        (alone,) = Interceptor(model, TOKENIZER, box, slots=1).run([request])
        assert rig.plain(alone) == together[request.id]
