from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
import torch
from tiny import tiny_model, tiny_tokenizer

from toolkit.decoding import Interceptor, Limits, Request
from toolkit.errors import UserError
from toolkit.plugins.discover import open_plugin
from toolkit.plugins.examples import turn
from toolkit.tools.arithmetic import evaluate
from toolkit.tools.builtin import builtin
from toolkit.tools.toolbox import Toolbox
from toolkit.tuning import dataset
from toolkit.tuning.config import Data
from toolkit.tuning.exchanges import plain, templates
from toolkit.tuning.labels import IGNORED, label_exchange

MATH = re.compile(r"\[MATH\((.*?)\) -> (.*?)\] (.*)\.")


def build(**changes):
    data = Data(**{"apis": ["MATH"], "first": 2, "exchanges": 60, **changes})
    return dataset.build(data, tiny_tokenizer(), 3, Path())


def rows(made):
    return [row for part in made.values() for row in part]


def test_held_out_operators_and_plugins_are_nowhere_in_the_built_text():
    made, parts = build()
    assert parts.seen == ("+", "*") and set(parts.held_out) == {"^", "&", "-", "DATE", "SEARCH"}
    text = "\n".join(tiny_tokenizer().decode(row["input_ids"]) for row in rows(made))
    assert text.count("MATH(") > 80
    for sign in ("^", "&", "|", "DATE", "SEARCH"):
        assert sign not in text
    assert not re.search(r"\d\s*-\s*\d", text)
    assert {row["operator"] for row in rows(made)} == {"+", "*", None}


def test_leave_one_out_and_lists_choose_operators():
    assert build(first=None, all_but="^")[1].seen == ("+", "*", "&", "-")
    assert build(first=None, operators=["-"])[1].seen == ("-",)
    assert build(apis=None, first=3)[1].seen == ("SEARCH", "DATE", "+")


def test_every_exchange_has_fresh_operands_and_the_tools_own_result():
    calls = [MATH.search(row["answer"]).groups() for row in rows(build(low=-0, high=30)[0]) if row["operator"]]
    for arguments, result, answer in calls:
        assert evaluate(arguments) == result == answer
    assert len({arguments for arguments, _, _ in calls}) > 80


def test_splits_share_no_question_and_are_the_same_every_time():
    made, _ = build()
    train, held = (set(made[name]["question"]) for name in ("train", "validation"))
    assert held and not train & held
    assert dataset.fingerprint(made) == dataset.fingerprint(build()[0])
    assert dataset.fingerprint(made) != dataset.fingerprint(build(exchanges=61)[0])


def test_no_question_for_false_calls_is_trained_on():
    assert not {one.question for one in plain()} & {one.question for one in plain("plain_test")}
    assert len({one.question for one in plain("plain_test")}) >= 100


@pytest.mark.parametrize("question", ["What is 15 + 7?", "Please calculate 15 * 7."])
def test_labels_are_the_interceptors_own_source_mask(question):
    """The exchange is written again by a scripted row; who wrote a token there decides whether it has a label here."""
    tokenizer = tiny_tokenizer()
    sign = question.split("15 ")[1][0]
    answer = f"15 {sign} 7 is [MATH(15 {sign} 7) -> {evaluate(f'15 {sign} 7')}] {evaluate(f'15 {sign} 7')}."
    marked = label_exchange(question, answer, tokenizer)
    prompt = tokenizer.encode(turn(question), add_special_tokens=False)
    assert marked.ids[: len(prompt)] == prompt and set(marked.labels[: len(prompt)]) == {IGNORED}
    model = tiny_model("llama")
    interceptor = Interceptor(model, tokenizer, Toolbox(builtin()))
    script = marked.ids[len(prompt) :]

    def choose(logits: torch.Tensor, rows):
        return [script[len(row.ids)] for row in rows]

    (reply,) = interceptor.run([Request("r", prompt, limits=Limits(model_tokens=len(script)))], choose)
    assert reply.calls[0].outcome.ok and 0 in reply.source
    assert reply.ids == script
    expected = [token if wrote else IGNORED for token, wrote in zip(reply.ids, reply.source, strict=True)]
    assert marked.labels[len(prompt) :] == expected


def test_saved_data_come_back_and_altered_ones_are_refused(tmp_path):
    made, parts = build()
    saved = dataset.save(made, parts, tmp_path / "data")
    again, same = dataset.load(tmp_path / "data")
    assert dataset.fingerprint(again) == saved and same == parts
    facts = json.loads((tmp_path / "data" / dataset.FACTS).read_text())
    (tmp_path / "data" / dataset.FACTS).write_text(json.dumps({**facts, "fingerprint": "0" * 64}))
    with pytest.raises(UserError, match="fingerprint"):
        dataset.load(tmp_path / "data")


def custom(tmp_path, *exchanges):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in exchanges))
    return str(path)


@pytest.mark.parametrize(
    ("question", "answer", "match"),
    [
        ("What is 3 ^ 4?", "No idea.", r"'\^' is held out but stands in exchange 1"),
        ("What is 3 less 4?", "It is [MATH(3-4) -> -1] -1.", "'-' is held out"),
        ("Which day?", "It is [DATE() -> Monday] Monday.", "'DATE' is held out"),
        ("Broken?", "It is [MATH(3 + 4", "not an exchange"),
        ("", "x", "not an exchange"),
    ],
)
def test_custom_exchanges_are_checked(tmp_path, question, answer, match):
    with pytest.raises(UserError, match=match):
        build(custom=custom(tmp_path, (question, answer)))


def test_custom_exchanges_are_added(tmp_path):
    made, _ = build(custom=custom(tmp_path, ("Add 3 and 4.", "That is [MATH(3 + 4) -> 7] 7.")))
    assert "Add 3 and 4." in {row["question"] for row in rows(made)}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"validation": 0.001, "exchanges": 5}, "validation split is empty"),
        ({"apis": ["MAHT"]}, "no API is named 'MAHT'"),
        ({"first": 9}, "there are 5 operators"),
        ({"first": None, "operators": ["|"]}, r"no example shows '\|'"),
    ],
)
def test_what_cannot_be_built_is_one_clear_line(changes, match):
    with pytest.raises(UserError, match=match):
        build(**changes)


def test_a_dataset_without_a_call_is_refused(tmp_path):
    manifest = {
        "plugin_api_version": 0,
        "name": "Mute",
        "description": "x",
        "apis": {"MATH": {"url": "https://e.tld/a", "arguments": True, "examples": [["Hello", "Hi."]]}},
    }
    path = tmp_path / "mute.json"
    path.write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="there are 0 operators"):
        build(plugins=[str(path)], first=1)


def test_a_tool_that_never_answers_is_named():
    (template,) = [t for t in templates([open_plugin("science")]) if t.operator == "+"]
    mute = type(template)(template.question, template.pieces, Toolbox({}))
    with pytest.raises(UserError, match="MATH gives no result"):
        mute.draw(Random(0), 0, 9)
