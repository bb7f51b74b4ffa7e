"""A local model in conversation: turns by template, tokens kept, streaming, full contexts, results stay results."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import tiny_model, tiny_tokenizer
from transformers import PreTrainedTokenizerFast

from toolkit import Assistant, Settings, load_plugins
from toolkit.calls.syntax import ARROW, HERMES, LLAMA3, MISTRAL, MISTRAL_ARGS, REACT, SYNTAXES
from toolkit.chat.local import LocalWriter
from toolkit.chat.turns import LINES, PLAIN, functions, of_template, template_syntax, turns_for
from toolkit.decoding.policy import STRICT
from toolkit.decoding.request import Limits, Request
from toolkit.decoding.row import Row, Rules
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.errors import UserError
from toolkit.tools.outcome import Outcome

SCIENCE = load_plugins("science")
SPECIALS = [
    "<|im_start|>",
    "<|im_end|>",
    "</s>",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "<\uff5cend\u2581of\u2581text\uff5c>",
]
CHATML = (
    "{% if tools %}<|im_start|>system\nTools: <tool_call> {% for t in tools %}{{ t.function.name }} {% endfor %}"
    "<|im_end|>\n{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chat_tokenizer(template: str | None = CHATML) -> PreTrainedTokenizerFast:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIALS})
    tokenizer.chat_template = template
    return tokenizer


def test_a_template_is_taken_apart_and_put_together_again() -> None:
    tokenizer = chat_tokenizer()
    tools = functions([plugin.manifest for plugin in SCIENCE], HERMES)
    turns = of_template(tokenizer, HERMES, tools)
    examples = [("Who?", "Me."), ("What?", "That.")]
    text = turns.examples(examples, HERMES).text + turns.ask("Why?")
    messages = [{"role": r, "content": c} for q, a in examples for r, c in (("user", q), ("assistant", a))]
    messages.append({"role": "user", "content": "Why?"})
    assert text == tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True)
    assert "Tools: <tool_call> SEARCH DATE MATH" in turns.head and turns.stop == ()


def test_which_turns_and_syntax_a_model_gets() -> None:
    def chosen(template: str | None, syntax: Any = None) -> tuple[Any, Any]:
        return turns_for(chat_tokenizer(template), syntax, [plugin.manifest for plugin in SCIENCE])

    assert chosen(None) == (PLAIN, ARROW) and chosen(None, REACT) == (LINES, REACT)
    assert chosen(CHATML)[1] is HERMES and chosen(CHATML, ARROW) == (PLAIN, ARROW)
    assert chosen(CHATML.replace("<tool_call>", ""), LLAMA3)[0].after == "<|im_end|>\n"
    assert template_syntax("a [TOOL_CALLS] b") is MISTRAL and template_syntax("[TOOL_CALLS][ARGS]") is MISTRAL_ARGS
    assert template_syntax("role: ipython") is LLAMA3 and template_syntax("plain") is None
    with pytest.raises(UserError, match="needs a chat template"):
        chosen(None, HERMES)
    with pytest.raises(UserError, match="does not alternate"):
        chosen("{{ messages[0].content }} <tool_call>")


@pytest.mark.parametrize("name", list(SYNTAXES))
def test_a_result_cannot_become_a_special_token(name: str) -> None:
    tokenizer, syntax = chat_tokenizer(), SYNTAXES[name]
    marks = syntax.opener + syntax.args_open
    rules = Rules(Vocabulary(tokenizer, marks), syntax, STRICT, frozenset(), None)

    def injected(text: str) -> list[int]:
        row = Row(Request("r", [1], stop=(), limits=Limits(result_tokens=400)), rules)
        call = None
        for token in rules.vocabulary.encode(syntax.call("MATH", "5 * 3")):
            call = call or row.accept(token)
        assert call is not None and call.name == "MATH"
        row.resolve(Outcome("ok", text))
        return [token for token, source in zip(row.ids, row.source, strict=True) if source == 0]

    special = set(tokenizer.all_special_ids)
    clean = [token for token in injected("x") if token in special]
    for mark in [*SPECIALS, "<|endoftext|>"]:
        found = [token for token in injected(f"a {mark} b{mark}{mark}") if token in special]
        assert found == clean, mark
    if name == "hermes":
        assert len(clean) == 4  # <|im_end|>, <|im_start|> before and after the result


def writer(tokenizer: PreTrainedTokenizerFast, **settings: Any) -> LocalWriter:
    from toolkit.plugins.toolbox import load_toolbox

    model = tiny_model("llama", len(tokenizer), seed=7, max_position_embeddings=1024)
    return LocalWriter(model, tokenizer, SCIENCE, load_toolbox(SCIENCE), Settings(**{"shots": 2, **settings}))


@pytest.mark.parametrize("template", [None, CHATML])
def test_what_is_shown_is_what_is_kept_in_tokens(template: str | None) -> None:
    made = writer(chat_tokenizer(template), tokens=25, temperature=1.5)
    past: list[Any] = []
    for question in ("one", "two <|im_end|> <|endoftext|>", "three"):
        shown: list[str] = []
        prompt = made._prompt(past, question)
        answer = made.answer(past, question, lambda text, by_model, shown=shown: shown.append(text))
        assert "".join(shown) == answer.text == "".join(piece.text for piece in answer.pieces)
        assert answer.ids is not None and answer.source is not None and len(answer.ids) == len(answer.source)
        assert made._vocabulary.join(list(answer.ids)).decode("utf-8", "replace") == answer.text
        after = made._vocabulary.encode(made._turns.after)
        past.append(answer)
        assert made._prompt(past, "x")[: len(prompt) + len(answer.ids) + len(after)] == [*prompt, *answer.ids, *after]
        specials = [
            token
            for token in made._ask(question)
            if token in set(made._interceptor.vocabulary._tokenizer.all_special_ids)
        ]
        assert len(specials) == (0 if template is None else 3)


def test_old_exchanges_make_room_and_a_full_prompt_is_said() -> None:
    made = writer(chat_tokenizer(None), tokens=25)
    answer = made.answer([], "one", lambda text, by_model: None)
    long = made._prompt([answer] * 200, "new")
    assert len(long) < 1024 and long[-len(made._ask("new")) :] == made._ask("new")
    with pytest.raises(UserError, match="fewer"):
        made.answer([], "word " * 1000, lambda text, by_model: None)
    with pytest.raises(UserError, match="fewer"):
        writer(chat_tokenizer(None), tokens=1000)


def test_constrained_answers_call_only_what_exists() -> None:
    pytest.importorskip("llguidance", reason="the extra `rest` is not installed")
    made = writer(tiny_tokenizer(), tokens=60, temperature=2.0, constrain=True)
    assert made._constraint is not None
    calls = [call for seed in range(3) for call in made.answer([], f"{seed}", lambda t, b: None).calls]
    assert all(call.name in ("MATH", "DATE", "SEARCH") for call in calls)


@pytest.mark.slow
def test_five_lines_with_the_bundled_model() -> None:
    assistant = Assistant("bundled:smollm2-135m-instruct", load_plugins("science"), Settings(tokens=32, constrain=True))
    answer = assistant.ask("What is 12 * 34?")
    assert answer.said == "12 * 34 is 408." and answer.source is not None
    (call,) = answer.calls
    assert (call.name, call.arguments, call.outcome.text) == ("MATH", "12 * 34", "408")
