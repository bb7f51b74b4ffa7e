"""Compiling: the cuts are the injector's, the selection is what was asked for."""

from __future__ import annotations

import pytest
from tiny import tiny_tokenizer

from toolkit.calls import ARROW, EQUALS, SYNTAXES, Scanner
from toolkit.calls.syntax import Syntax
from toolkit.errors import UserError
from toolkit.plugins.compile import Budget, compile_plugins, shots
from toolkit.plugins.examples import example_fragment, turn
from toolkit.plugins.fragment import Fragment
from toolkit.plugins.manifest import Manifest, builtin, validate

CONTROLS = """<Guest> What are you?
<AI> I'm a science project.
<Guest> How many people are on earth?
<AI> The Earth has [SEARCH(earth population) -> 7.888 billion (2021)] 7.888 billion inhabitants as of 2021.
<Guest> What day is it?
<AI> Today's date is [DATE() -> Feb 20th, 2023] February 20th, 2023.
"""
EXPERIMENTS = """<Guest> What is 123 + 456?
<AI> 123 + 456 is [MATH(123 + 456) -> 579] 579.
<Guest> What is 123 * 456?
<AI> 123 * 456 is [MATH(123 * 456) -> 56088] 56088.
<Guest> What is 123 ^ 456?
<AI> 123 ^ 456 is [MATH(123 ^ 456) -> 435] 435.
<Guest> What is 123 & 456?
<AI> 123 & 456 is [MATH(123 & 456) -> 72] 72.
<Guest> What is 123 - 456?
<AI> 123 - 456 is [MATH(123 - 456) -> -333] -333.
"""


def other(name: str, api: str) -> Manifest:
    """A plugin of one API with two examples."""
    examples = [[f"q{i}", f"see [{api}({i}) -> {i}] {i}"] for i in range(2)]
    return validate(
        {
            "plugin_api_version": 0,
            "name": name,
            "description": "",
            "apis": {api: {"url": "https://example.tld", "arguments": True, "examples": examples}},
        }
    )


def test_the_science_plugin_is_the_published_prompt() -> None:
    assert compile_plugins([builtin()]).text == CONTROLS + EXPERIMENTS


def test_segments_are_cut_where_the_injector_cuts() -> None:
    fragment = example_fragment("q?", "a [A(f(x)) -> 1] b [B()] [C(1) -> [2].")
    assert [(segment.kind, segment.text) for segment in fragment.segments] == [
        ("user", "<Guest> q?\n<AI>"),
        ("model", " a "),
        ("call", "[A(f(x))"),
        ("result", " -> 1]"),
        ("rest", " b "),
        ("call", "[B()"),
        ("result", "]"),
        ("rest", " "),
        ("call", "[C(1)"),
        ("result", " -> [2]"),
        ("rest", ".\n"),
    ]
    assert fragment.segments[0].text == turn("q?")


def test_answer_that_starts_with_a_call_keeps_the_space_before_it() -> None:
    kinds = [(segment.kind, segment.text) for segment in example_fragment("q", "[A(1) -> 2]").segments]
    assert kinds[1:] == [("model", " "), ("call", "[A(1)"), ("result", " -> 2]"), ("rest", "\n")]


def injected_ids(question: str, answer: str, syntax: Syntax) -> list[int]:
    """Ids as decoding makes them: model bytes up to the scanner's hit, then the result by itself, and so on."""
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(turn(question), add_special_tokens=False)
    rest, scanner = f" {answer}\n".encode(), Scanner(syntax)
    while (call := scanner.feed(rest)) is not None:
        scanner.reset()
        close = rest.index(syntax.closer.encode(), call.end) + 1
        for part in (rest[: call.end], rest[call.end : close]):
            ids += tokenizer.encode(part.decode(), add_special_tokens=False)
        rest = rest[close:]
    return ids + tokenizer.encode(rest.decode(), add_special_tokens=False)


@pytest.mark.parametrize("syntax", list(SYNTAXES.values()), ids=list(SYNTAXES))
def test_ids_of_a_demonstration_are_those_of_an_intercepted_reply(syntax: Syntax) -> None:
    for shot in shots([builtin()]):
        fragment = example_fragment(shot.question, shot.answer, syntax)
        answer = fragment.text.split(f"\n{'<AI>'} ")[1].rstrip("\n")
        assert fragment.ids(tiny_tokenizer()) == injected_ids(shot.question, answer, syntax)


def test_ids_force_boundaries_around_results_and_none_before_calls() -> None:
    tokenizer = tiny_tokenizer()
    fragment = example_fragment("q", "is [MATH(1) -> 2].")
    assert fragment.pieces == ("<Guest> q\n<AI>", " is [MATH(1)", " -> 2]", ".\n")
    ids = fragment.ids(tokenizer)
    assert ids == [token for piece in fragment.pieces for token in tokenizer.encode(piece, add_special_tokens=False)]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    assert "Ġ[" in tokens
    assert "]." not in tokens
    assert "])" not in tokens
    assert "]." in tokenizer.convert_ids_to_tokens(tokenizer.encode(fragment.text, add_special_tokens=False))


def test_ids_of_a_fragment_are_those_of_its_examples() -> None:
    tokenizer = tiny_tokenizer()
    singles = [example_fragment(shot.question, shot.answer) for shot in shots([builtin()])]
    whole = compile_plugins([builtin()])
    assert whole.ids(tokenizer) == [token for single in singles for token in single.ids(tokenizer)]


def test_syntax_changes_the_marks_only() -> None:
    text = compile_plugins([builtin()], EQUALS).text
    assert "[MATH(123 - 456)=-333] -333." in text
    assert "->" not in text


def test_order_first_and_seed() -> None:
    plugins = [other("P", "A"), other("Q", "B")]
    names = [(shot.api, shot.index) for shot in shots(plugins)]
    assert names == [("A", 0), ("A", 1), ("B", 0), ("B", 1)]
    assert [(shot.api, shot.index) for shot in shots(plugins[::-1], first=1)] == [("B", 0), ("A", 0)]
    assert shots(plugins, first=0) == []
    orders = {tuple((shot.api, shot.index) for shot in shots(plugins, seed=seed)) for seed in range(40)}
    assert len(orders) > 10
    assert all(sorted(order) == names for order in orders)
    assert shots(plugins, seed=3) == shots(plugins, seed=3)


def test_budget_takes_the_longest_head_that_fits() -> None:
    tokenizer = tiny_tokenizer()
    lengths = [len(example_fragment(shot.question, shot.answer).ids(tokenizer)) for shot in shots([builtin()])]
    two = sum(lengths[:2])
    for tokens, expected in [(two - 1, 1), (two, 2), (0, 0), (10**6, 8)]:
        assert len(shots([builtin()], budget=Budget(tokenizer, tokens))) == expected
    fragment = compile_plugins([builtin()], budget=Budget.of_context(tokenizer, two + 50, 50))
    assert len(fragment.ids(tokenizer)) == two
    with pytest.raises(UserError, match="leave nothing"):
        Budget.of_context(tokenizer, 50, 50)


def test_two_plugins_with_one_api_name_are_refused_by_name() -> None:
    with pytest.raises(UserError, match="the API A is offered by two plugins, 'P' and 'Q'"):
        compile_plugins([other("P", "A"), other("Q", "A")])


def test_no_plugins_make_an_empty_fragment() -> None:
    assert compile_plugins([]) == Fragment()


def test_bad_example_is_a_users_error() -> None:
    with pytest.raises(UserError, match=r"the call \[A\(1\) is not followed by"):
        example_fragment("q", "[A(1)-> 2]", ARROW)
