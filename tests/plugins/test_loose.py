"""The tolerant parser: positions, what it lets pass, what it refuses, and its bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.plugins.loose import MAX_DEPTH, MAX_VALUES, parse

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc {[:", max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.sampled_from([None, 0, 2]))
@settings(max_examples=80, deadline=None)
def test_strict_json_reads_as_json_does(value: Any, indent: int | None) -> None:
    document = parse(json.dumps(value, indent=indent))
    assert document.value == value
    assert document.complete
    assert not document.faults


@given(st.text('{}[],:"a1 \\\n', max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    document = parse(text)
    assert document.complete or document.faults
    try:
        strict = json.loads(text)
    except ValueError:
        return
    if not any(fault.message.endswith("occurs twice") for fault in document.faults):
        assert document.value == strict


def test_places_are_lines_and_columns_of_values_and_keys() -> None:
    document = parse('{"a": 1,\n  "b": [true,\n "x"]}')
    assert document.places[("b", 1)] == (3, 2)
    assert document.keys[("b",)] == (2, 3)
    assert document.places[("b",)] == (2, 8)


def test_loose_writing_loads_with_warnings() -> None:
    document = parse('{apis: ["A": {url: "x",}, "B": {},],}')
    assert document.value == {"apis": {"A": {"url": "x"}, "B": {}}}
    assert [fault.level for fault in document.faults] == ["warning"] * 6


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{"a": NaN}', 1, 7, "'NaN' is not a value"),
        ('{"a":\n -Infinity}', 2, 2, "'-' is not a value"),
        ('{"a": 1e999}', 1, 7, "the number is too large"),
        ('{"a": 01}', 1, 7, "'0' is not a value"),
        ('{"a": 1\n "b": 2}', 2, 2, "expected ',' or '}', found '\"'"),
        ('{"a": "x}', 1, 7, "the string is not closed on its line"),
        ('{"a": "\\q"}', 1, 7, "the string has a wrong escape"),
        ('{"a": "\\ud800"}', 1, 7, "the string has half a surrogate pair"),
        ('{"a" 1}', 1, 6, "no colon after the key 'a'"),
        ('["a": 1, 2]', 1, 10, "'2' where a key is expected"),
        ("{} {}", 1, 4, "text after the end of the document"),
        ('{"a": 1', 1, 8, "expected ',' or '}', the text ends"),
        ("", 1, 1, "the text ends where a value is expected"),
    ],
)
def test_a_syntax_error_is_one_fault_with_its_place(text: str, line: int, column: int, message: str) -> None:
    document = parse(text)
    assert not document.complete
    [fault] = [fault for fault in document.faults if fault.level == "error"]
    assert (fault.line, fault.column, fault.message) == (line, column, message)


def test_a_repeated_key_is_an_error_and_reading_goes_on() -> None:
    document = parse('{"a": 1,\n "a": {"b": 2, "b": 3}}')
    assert document.value == {"a": 1}
    assert [(fault.line, fault.message, fault.level) for fault in document.faults] == [
        (2, "'a' occurs twice", "error"),
        (2, "'b' occurs twice", "error"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000,
        '{"a":' * 10_000,
        "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2),
        "[" + "1," * (MAX_VALUES + 1) + "1]",
        '"' + "x" * 2_000_000 + '"',
        '["' + "\\" * 900_001,
        "9" * 1_000_000,
        "[" + '"",' * 300_000,
    ],
)
def test_hostile_texts_are_refused(text: str) -> None:
    document = parse(text)
    assert not document.complete
    assert len(document.faults) == 1


def test_the_deepest_allowed_nesting_loads() -> None:
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH).complete
