"""The call formats of chat models: as data, found by the same scanner, for any split into chunks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.calls import SYNTAXES, Call, Scanner, Syntax, find_call
from toolkit.calls.scanner import MAX_ARGUMENTS

PIECES = [
    *(
        "<tool_call>",
        "\n",
        '{"name": "MATH", ',
        '"arguments": {"input": "5"}}',
        '"parameters": {}}',
        "{",
        "}",
        '"',
        "\\",
        " ",
    ),
    *(
        "[TOOL_CALLS]",
        " [",
        "MATH",
        "[ARGS]",
        '{"input": "1"}',
        "Action: ",
        "Action:",
        "\nAction Input: ",
        "5 * 3",
        "é",
        ":",
    ),
    *('{"name": "A"}', '{"a": [1]}', "x" * 70, "       ", '"}', '{ "'),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)
NAMES = list(SYNTAXES)


def fed(syntax: Syntax, chunks: list[bytes]) -> Call | None:
    scanner = Scanner(syntax)
    for chunk in chunks:
        call = scanner.feed(chunk)
        if call is not None:
            return call
    return None


def bytewise(syntax: Syntax, text: str) -> Call | None:
    return fed(syntax, [bytes([byte]) for byte in text.encode()])


@given(name=st.sampled_from(NAMES), text=TEXTS, cuts=st.lists(st.integers(0, 10_000), max_size=12))
@settings(max_examples=600, deadline=None)
def test_any_split_agrees_with_the_oracle(name: str, text: str, cuts: list[int]) -> None:
    data = text.encode()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    chunks = [data[low:high] for low, high in pairwise(edges)]
    assert fed(SYNTAXES[name], chunks) == find_call(text, SYNTAXES[name])


@pytest.mark.parametrize("syntax", SYNTAXES.values(), ids=NAMES)
@pytest.mark.parametrize("arguments", ["5 * 3", "", "(1 + 2) * 3", "naïve 日本"])
def test_a_written_call_is_read_back(syntax: Syntax, arguments: str) -> None:
    call = "é " + syntax.call("MATH", arguments)
    wanted = Call("MATH", arguments, 3, len(call.encode()))
    assert find_call(call, syntax) == wanted
    assert bytewise(syntax, call) == wanted
    assert bytewise(syntax, call + syntax.injection("15") + " tail") == wanted


CASES = [
    ("hermes", '<tool_call>{"name":"M","arguments":{"a": 1, "b": "}"}}', ("M", '{"a": 1, "b": "}"}')),
    ("hermes", '<tool_call>\n{"arguments": {}, "name": "M"}', ("M", "")),
    ("hermes", '<tool_call>\n{\n  "name": "M",\n  "arguments": {"input": " 5 "}\n}', ("M", "5")),
    ("hermes", '<tool_call>{"name": "M", "arguments": "5 * 3"}', ("M", "5 * 3")),
    ("hermes", '<tool_call>{"name": 5}<tool_call>{"name": "M"}', ("M", "")),
    ("hermes", '<tool_call>{"name": "a\n<tool_call>{"name": "M"}', ("M", "")),
    ("hermes", '<tool_call>{"name": "M", }', None),
    ("hermes", '{"name": "M", "arguments": {}}', None),
    ("llama3", '{"name": "M", "parameters": {"input": "5"}}', ("M", "5")),
    ("llama3", '<|python_tag|>{"type": "function", "name": "M", "parameters": {"x": null}}', ("M", '{"x": null}')),
    ("llama3", 'f(x) = {x} {"a": 1} {"name": "M"}', ("M", "")),
    ("llama3", '{"' + "x" * MAX_ARGUMENTS + '{"name": "M"}', ("M", "")),
    ("llama3", '{"name": "M"' + '{"a":' * 900 + "}" * 901, None),
    ("mistral", '[TOOL_CALLS][{"name": "M", "arguments": {"input": "5"}}]', ("M", "5")),
    ("mistral", '[TOOL_CALLS] [{"name": "M", "arguments": {}}]', ("M", "")),
    ("mistral-args", "[TOOL_CALLS]M[ARGS]{}", ("M", "")),
    ("mistral-args", '[TOOL_CALLS] M [ARGS] {"city": "Bonn"}', ("M", '{"city": "Bonn"}')),
    ("react", "Thought: so\nAction: M\nAction Input: 5 * (3\nObs", ("M", "5 * (3")),
    ("react", "Action: M \nAction Input:\n", ("M", "")),
    ("react", "Action: M\nAction Input: 5", None),
    ("react", "Action: call it\nAction: M\nAction Input: 'it\n", ("M", "'it")),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_cases(name: str, text: str, expected: tuple[str, str] | None) -> None:
    call = find_call(text, SYNTAXES[name])
    assert (call and (call.name, call.arguments)) == expected
    assert bytewise(SYNTAXES[name], text) == call


def test_marks_of_the_seed() -> None:
    arrow, equals = SYNTAXES["arrow"], SYNTAXES["equals"]
    assert arrow.call("MATH", "1 + 2") + arrow.injection("3") == "[MATH(1 + 2) -> 3]"
    assert equals.call("MATH", "1 + 2") + equals.injection("3") == "[MATH(1 + 2)=3]"
    assert arrow.silent() == equals.silent() == "]"


def test_an_object_as_argument_is_written_as_one() -> None:
    written = SYNTAXES["hermes"].call("FIND", '{"city": "Bonn"}')
    assert json.loads(written.removeprefix("<tool_call>\n")) == {"name": "FIND", "arguments": {"city": "Bonn"}}
    assert SYNTAXES["hermes"].silent().startswith("\n</tool_call>")
