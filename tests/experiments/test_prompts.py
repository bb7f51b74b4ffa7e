from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from experiments.base import Item
from experiments.operators.config import OperatorsConfig
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.prompts import Prompts
from experiments.suites.load import load_suite
from toolkit.errors import UserError
from toolkit.plugins.fragment import join

SUITE = load_suite("operators")
TRIANGLE = Prompts(SUITE, SUITE.introduction, "triangular", 7, 4)
CONTROLS = [
    "<Guest> What are you?\n<AI> I'm a science project.\n",
    "<Guest> How many people are on earth?\n<AI> The Earth has [SEARCH(earth population) -> 7.888 billion (2021)] "
    "7.888 billion inhabitants as of 2021.\n",
    "<Guest> What day is it?\n<AI> Today's date is [DATE() -> Feb 20th, 2023] February 20th, 2023.\n",
]
SHOWN = {
    "+": "<Guest> What is 123 + 456?\n<AI> 123 + 456 is [MATH(123 + 456) -> 579] 579.\n",
    "*": "<Guest> What is 123 * 456?\n<AI> 123 * 456 is [MATH(123 * 456) -> 56088] 56088.\n",
    "^": "<Guest> What is 123 ^ 456?\n<AI> 123 ^ 456 is [MATH(123 ^ 456) -> 435] 435.\n",
    "&": "<Guest> What is 123 & 456?\n<AI> 123 & 456 is [MATH(123 & 456) -> 72] 72.\n",
    "-": "<Guest> What is 123 - 456?\n<AI> 123 - 456 is [MATH(123 - 456) -> -333] -333.\n",
}


def item(shots: int = 3, skill: str = "+", trial: int = 0, variant: str = "strict-arrow", model: str = "m") -> Item:
    return Item(model, variant, shots, skill, trial)


@pytest.mark.parametrize("variant", ["strict-arrow", "paper-arrow-t0.9"])
def test_prompts_hold_the_published_texts_verbatim(variant: str) -> None:
    for shots in range(6):
        asked = TRIANGLE.ask(item(shots, "|", variant=variant))
        assert Counter(part.text for part in asked.parts) == Counter([*CONTROLS, *list(SHOWN.values())[:shots]])
        assert asked.prompt.startswith("<Guest> What is ") and asked.prompt.endswith("?\n<AI>")


def test_equals_writes_every_call_that_way_and_none_leaves_calls_out() -> None:
    equals = join(TRIANGLE.ask(item(5, variant="strict-equals")).parts).text
    assert "[MATH(123 + 456)=579] 579." in equals and "[DATE()=Feb 20th, 2023]" in equals and "->" not in equals
    plain = join(TRIANGLE.ask(item(5, variant="strict-none")).parts).text
    assert "<AI> 123 + 456 is 579.\n" in plain and "The Earth has 7.888 billion inhabitants" in plain
    assert "[" not in plain


def test_held_out_is_what_was_not_introduced() -> None:
    held = {(n, op): TRIANGLE.ask(item(n, op)).held_out for n in range(6) for op in "+*^&-|"}
    assert {key for key, value in held.items() if not value} == {
        (n, op) for n in range(6) for place, op in enumerate("+*^&-") if place < n
    }


def test_strict_shares_items_and_orders_where_cells_are_paired() -> None:
    for trial in range(8):
        asked = [
            TRIANGLE.ask(item(n, op, trial, v, m))
            for n in range(6)
            for op in "+*^&-|"
            for v in ("strict-arrow", "strict-equals")
            for m in ("m", "other")
        ]
        operands = {tuple(one.question.arguments.split()[::2]) for one in asked}
        assert len(operands) == 1
        for n in range(6):
            texts = {join(TRIANGLE.ask(item(n, op, trial)).parts).text for op in "+*^&-|"}
            assert len(texts) == 1
            assert texts == {join(TRIANGLE.ask(item(n, "+", trial + 4)).parts).text}  # four orders, assigned evenly
    assert len({TRIANGLE.ask(item(trial=trial)).question.text for trial in range(40)}) > 30
    assert len({one.seed for one in asked}) == len(asked)
    orders = [TRIANGLE.ask(item(trial=trial)).order for trial in range(8)]
    assert orders == [0, 1, 2, 3, 0, 1, 2, 3]


def test_paper_draws_order_and_operands_anew_for_every_sample() -> None:
    cells = [item(n, op, t, "paper-arrow-t0.9") for n in (4, 5) for op in "+*^&-|" for t in range(20)]
    asked = [TRIANGLE.ask(cell) for cell in cells]
    assert len({tuple(one.question.arguments.split()[::2]) for one in asked}) > 220
    assert len({tuple(part.text for part in one.parts) for one in asked}) > 220
    assert asked == [TRIANGLE.ask(cell) for cell in cells]


def test_shuffles_and_operands_are_uniform() -> None:
    drawn = [TRIANGLE.ask(item(1, "+", trial, "paper-arrow")) for trial in range(6000)]
    seen = Counter(tuple(part.text for part in one.parts) for one in drawn)
    assert set(seen) == set(permutations([*CONTROLS, SHOWN["+"]]))
    assert all(abs(count - 250) < 90 for count in seen.values())  # 24 orders; 5.8 standard deviations
    values = [int(word) for one in drawn for word in one.question.arguments.split()[::2]]
    assert min(values) == 0 and max(values) == 100 and abs(sum(values) / len(values) - 50) < 1.5


def test_published_prompt_lengths(shared_data: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    folder = shared_data / "gpt2_tokenizer"
    tokenizer: Any = tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    asked = [TRIANGLE.ask(item(n, "+")) for n in range(6)]
    lengths = [len(tokenizer.encode(join(one.parts).text + one.prompt).ids) for one in asked]
    assert lengths == [110, 146, 182, 216, 250, 286]


def test_leave_one_out_leaves_out_the_asked_skill_and_nothing_else() -> None:
    prompts = Prompts(SUITE, tuple("+*^&-|"), "leave-one-out", 7, 2)
    assert prompts.shots == (5, 6)
    for op in "+*^&-|":
        without, whole = (join(prompts.ask(item(n, op)).parts).text for n in (5, 6))
        assert {o for o in "+*^&-|" if f"123 {o} 456?" in without} == set("+*^&-|") - {op}
        assert all(f"123 {o} 456?" in whole for o in "+*^&-|")
        assert prompts.ask(item(5, op)).held_out and not prompts.ask(item(6, op)).held_out


def build(**changes: Any) -> OperatorTransfer:
    data = {"experiment": "operators", "models": [{"name": "m", "path": "p"}], "trials": 2} | changes
    return OperatorTransfer(OperatorsConfig.model_validate(data), SUITE, "c.yaml")


def test_introduction_and_design_decide_the_grid() -> None:
    assert build().shots == (0, 1, 2, 3, 4, 5) and sum(1 for _ in build().items()) == 72
    assert build(introduction=["|", "+"]).shots == (0, 1, 2)
    assert build(design="leave-one-out").shots == (4, 5)
    with pytest.raises(UserError, match="no prompts with 6 shots"):
        build(shots=[6])
    with pytest.raises(UserError, match="'%'"):
        build(introduction=["%"])


def test_streams_hold_every_item_once_with_equal_prompts_side_by_side() -> None:
    experiment = build(trials=20, orders=5, slots=8, variants=["strict-arrow", "paper-arrow"])
    items = list(experiment.items())
    streams = list(experiment.streams(items))
    assert [stream.file for stream in streams] == ["m.strict-arrow", "m.paper-arrow"]
    assert Counter(one for stream in streams for one in stream.items) == Counter(items)
    for stream, same in zip(streams, (True, False), strict=True):
        parts = [experiment.prompts.ask(one).parts for one in stream.items]
        changes = sum(a != b for a, b in pairwise(parts))
        assert changes == len(set(parts)) - 1 and (changes < len(parts) / 3) == same
