"""Lint warnings: what is legal and likely to go wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tiny import tiny_tokenizer

from toolkit.plugins.hints import nested_repeat, slow_text
from toolkit.plugins.lint import lint, live_faults
from toolkit.plugins.manifest import builtin
from toolkit.plugins.science import science
from toolkit.plugins.toolbox import load_toolbox
from toolkit.plugins.writing import fixed, manifest_json, scaffold, strict_json
from toolkit.tools.clock import Clock
from toolkit.tools.toolbox import Toolbox

API = {"url": "https://example.tld", "arguments": True, "examples": [["q", "[A(1) -> 2] 2"]]}


def manifest(apis: dict[str, Any]) -> str:
    return json.dumps({"plugin_api_version": 0, "name": "P", "description": "d", "apis": apis}, indent=1)


def warnings_of(apis: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    reading, faults = lint(manifest(apis), **options)
    assert reading.manifest is not None
    assert {fault.level for fault in faults} <= {"warning"}
    return [(str(fault.record()["path"]), fault.message) for fault in faults]


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "(a*)*b", "(?:x|(y+z)*)+", "([0-9]+,?)*", "(?P<n>a+){2,}", "((a{1,}b?))*", r"(\(+)+", "(a+)++b|(b+)+?"],
)
def test_nested_repeats_are_found(pattern: str) -> None:
    assert nested_repeat(pattern) is not None
    assert warnings_of({"A": API | {"pattern": f"1|{pattern}"}})


@pytest.mark.parametrize(
    "pattern", ["a+b+", "(ab)+", "[(a+)+]+", r"\(a+\)+", "(a+){2}", "(a{2})+", "(?>a+)+", "(a++)+", "(a+)(b+)", "+", ""]
)
def test_single_repeats_are_not(pattern: str) -> None:
    assert nested_repeat(pattern) is None


def test_a_slow_pattern_is_found_by_trying() -> None:
    assert slow_text("(a|aa)+", []) is not None
    assert slow_text("(qz|qzqz)+", ["qz"]) is not None
    assert slow_text("[0-9+*/() -]{1,100}", ["1 + 2"]) is None
    [(place, message)] = warnings_of({"A": API | {"pattern": "1|(a|aa)+"}})
    assert place == "apis.A.pattern"
    assert message.startswith("matching is slow on 'aaaa")


def test_names_that_look_alike() -> None:
    quiet = API | {"examples": [["q", f"[{name}(1) -> 2]"] for name in ("MATH", "Math", "MATHS", "DATE")]}
    found = warnings_of(dict.fromkeys(("MATH", "Math", "MATHS", "DATE"), quiet))
    assert found == [
        ("apis.Math", "Math and MATH differ in case or punctuation only"),
        ("apis.MATHS", "MATHS begins with MATH: a model may write the shorter one"),
    ]


def test_other_warnings() -> None:
    examples = [
        [" q", "a <AI> b"],
        ["q", "[A(1) -> 2 <b>x</b> [3]"],
    ]
    found = warnings_of({"A": API | {"examples": examples, "url": "http://example.tld"}, "B": API | {"examples": []}})
    assert found == [
        ("apis.A.url", "the address is not encrypted"),
        ("apis.A.examples[0][0]", "the text begins or ends with a space"),
        ("apis.A.examples[0][1]", "the text holds <Guest> or <AI>"),
        ("apis.A.examples[1][1]", "the result '2 <b>x</b> [3' would be injected as '2 (b)x(/b) (3'"),
        ("apis.B", "no example of B calls it"),
    ]


def test_long_examples_by_tokenizer_or_estimate() -> None:
    tokenizer = tiny_tokenizer()
    api = {"A": API | {"examples": [["q", "[A(1) -> 2] " + "word " * 40 + "end"]]}}
    [(place, message)] = warnings_of(api, budget=40)
    assert (place, message) == ("apis.A.examples[0]", "the example takes about 58 tokens, over 40")
    [(_, exact)] = warnings_of(api, budget=40, tokenizer=tokenizer)
    assert exact == "the example takes 228 tokens, over 40"
    assert warnings_of(api, budget=228, tokenizer=tokenizer) == []


def test_warnings_carry_lines_and_errors_come_alone() -> None:
    _, faults = lint(manifest({"A": API | {"examples": []}}))
    assert [(fault.line, fault.column) for fault in faults] == [(6, 8)]
    reading, faults = lint(manifest({"A": API | {"examples": [], "url": "x"}}))
    assert reading.manifest is None
    assert [fault.level for fault in faults] == ["error"]


def test_live_compares_examples_with_what_the_apis_say() -> None:
    reading, _ = lint(manifest_json(builtin()))
    found = live_faults(reading, load_toolbox([science()]))
    assert [str(fault.record()["path"]) for fault in found] == ["apis.DATE.examples[0][1]"]
    assert "the example says 'Feb 20th, 2023'" in found[0].message
    dead = live_faults(reading, Toolbox({"DATE": Clock()}))
    assert len(dead) == 7
    assert "fails: unknown: no API is named SEARCH" in dead[0].message


def test_scaffold_is_a_manifest_without_faults() -> None:
    reading, faults = lint(scaffold('A "quoted" name'))
    assert faults == []
    assert reading.manifest is not None
    assert reading.manifest.name == 'A "quoted" name'


def test_fix_changes_the_writing_only() -> None:
    text, count = fixed('{b: [1, [2, "x"],], "a": {}, c: []}', "m.json")
    assert text == '{\n  "b": [\n    1,\n    [2, "x"]\n  ],\n  "a": {},\n  "c": []\n}\n'
    assert count == 3
    assert fixed(text, "m.json") == (text, 0)
    value = {"x": ["ä", "\u2028", '"'], "y": [{"z": None}], "w": [[]]}
    assert json.loads(strict_json(value)) == value
