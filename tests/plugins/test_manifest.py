"""Manifests: the seed's text as printed, every fault at once, and the built-in plugin."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.errors import UserError
from toolkit.plugins.compile import compile_plugins
from toolkit.plugins.manifest import builtin, load, read, schema_text, validate
from toolkit.plugins.writing import manifest_json

SEED = """{
"plugin_api_version": 0,
"name": "Example Plugin",
"description": "A boilerplate for plugin developers to copy paste.",
"apis": [
"MATH": {url:"https://example.tld/api/math", arguments: true, history: 0, examples: [
["What is 123 + 456?", "123 + 456 is [MATH(123 + 456) -> 579] 579."],
["What is 123 * 456?", "123 * 456 is [MATH(123 * 456) -> 56088] 56088."]
]},
"DATE": {url:"https://example.tld/api/date", arguments: false, history: 0, examples: [
["What day is it?", "Today's date is [DATE() -> Feb 20th, 2023] February 20th, 2023."]
]}
]
}
"""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('[M(]->1 \n"', max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("a", max_size=2), inner, max_size=2),
    max_leaves=8,
)


def math(**changes: Any) -> dict[str, Any]:
    """A good manifest of one API, with changes to the API."""
    api = {"url": "https://example.tld/api", "arguments": True, "examples": [["1 + 1?", "It is [MATH(1 + 1) -> 2] 2."]]}
    return {"plugin_api_version": 0, "name": "M", "description": "d", "apis": {"MATH": {**api, **changes}}}


def faults_of(value: Any) -> list[tuple[str, str]]:
    """(place, message) of every error in a manifest value."""
    reading = read(json.dumps(value))
    return [(fault.record()["path"], fault.message) for fault in reading.faults]


def test_the_seeds_boilerplate_loads_as_printed() -> None:
    reading = read(SEED)
    assert reading.manifest is not None
    assert list(reading.manifest.apis) == ["MATH", "DATE"]
    assert reading.manifest.apis["MATH"].examples[1][1] == "123 * 456 is [MATH(123 * 456) -> 56088] 56088."
    assert {fault.level for fault in reading.faults} == {"warning"}


def test_a_good_manifest_has_no_fault_and_survives_a_round_trip() -> None:
    assert faults_of(math(pattern="[0-9+ ]+")) == []
    manifest = builtin()
    assert read(manifest_json(manifest)).manifest == manifest


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"url": "ftp://example.tld"}, "url", "'ftp://example.tld' is not an http(s) address"),
        ({"url": "https://"}, "url", "'https://' is not an http(s) address"),
        ({"url": "https://[::1"}, "url", "'https://[::1' is not an http(s) address"),
        ({"url": "https://me:pass@example.tld/"}, "url", "the address holds a user or password"),
        ({"url": 3}, "url", "should be a valid string"),
        ({"arguments": "yes"}, "arguments", "should be a valid boolean"),
        ({"arguments": 1}, "arguments", "should be a valid boolean"),
        ({"history": -1}, "history", "should be greater than or equal to 0"),
        ({"history": 10**6}, "history", "should be less than or equal to 64"),
        ({"history": True}, "history", "should be a valid integer"),
        ({"histroy": 1}, "histroy", "'histroy' is not a key of the standard"),
        ({"pattern": "[0-9"}, "pattern", "not a regular expression: unterminated character set at position 4"),
        ({"pattern": "[0-9]"}, "examples[0][1]", "the arguments '1 + 1' do not match the pattern of MATH"),
        ({"arguments": False}, "examples[0][1]", "MATH takes no arguments"),
        ({"examples": [["only a question"]]}, "examples[0]", "an example needs a question and an answer"),
        ({"examples": [["a", "b", "c"]]}, "examples[0]", "an example has more than two texts"),
        ({"examples": [["a\nb", "c"]]}, "examples[0][0]", "the text holds a line break"),
        ({"examples": [["a", "b\u2028<Guest> c"]]}, "examples[0][1]", "the text holds a line break"),
        ({"examples": [["a", ""]]}, "examples[0][1]", "String should have at least 1 character"),
        (
            {"examples": [["a", "[SEARCH(x) -> y] z"]]},
            "examples[0][1]",
            "the call names SEARCH, which is no API of this plugin",
        ),
        *(
            ({"examples": [["a", answer]]}, "examples[0][1]", f"the call that starts with {start!r} does not parse")
            for answer, start in [
                ("It is [MATH(1 + 1 -> 2] 2.", "[MATH(1 + 1 -> 2] 2."),
                ("It is [MATH -> 2] 2.", "[MATH -> 2] 2."),
                ("It is [ MATH(1) -> 1] 1.", "[ MATH(1) -> 1] 1."),
                ("It is MATH(1 + 1) -> 2] 2.", "MATH(1 + 1) -> 2] 2."),
            ]
        ),
        *(
            ({"examples": [["a", answer]]}, "examples[0][1]", "the call [MATH(1 + 1) " + message)
            for answer, message in [
                ("It is [MATH(1 + 1)=2] 2.", "is not followed by ' -> result]'"),
                ("It is [MATH(1 + 1) -> 2", "is not followed by ' -> result]'"),
                ("It is [MATH(1 + 1) -> ] 2", "has an empty result"),
            ]
        ),
    ],
)
def test_a_fault_names_its_place(changes: dict[str, Any], place: str, message: str) -> None:
    assert faults_of(math(**changes)) == [(f"apis.MATH.{place}", message)]


def test_every_fault_is_found_at_once_with_its_line() -> None:
    text = SEED.replace('"name"', '"nme"').replace("true", "1").replace("DATE()", "DATE(1)").replace("https", "gopher")
    errors = [fault for fault in read(text).faults if fault.level == "error"]
    assert [(fault.line, fault.record()["path"]) for fault in errors] == [
        (1, "name"),
        (3, "nme"),
        (6, "apis.MATH.url"),
        (6, "apis.MATH.arguments"),
        (10, "apis.DATE.url"),
        (11, "apis.DATE.examples[0][1]"),
    ]
    assert errors[1].fix == "did you mean name?"


def test_duplicate_api_is_an_error_at_the_second() -> None:
    reading = read(SEED.replace('"DATE": ', '"MATH": '))
    assert [fault.render("m.json") for fault in reading.faults if "twice" in fault.message] == [
        "m.json:10:1 apis.MATH: error: 'MATH' occurs twice; keep one of them or rename it"
    ]
    assert reading.manifest is None


@pytest.mark.parametrize("value", [[], None, 3, "x", {}, {"apis": []}, {"apis": {"A": 3}}, {"apis": {"": {}}}])
def test_wrong_shapes_are_faults_and_never_raise(value: Any) -> None:
    assert faults_of(value)


def test_a_slow_pattern_is_tried_once_however_many_examples_there_are() -> None:
    examples = [["q", f"[MATH({'a' * 60}!) -> 1] {number}"] for number in range(900)]
    found = faults_of(math(pattern="(a|aa)+", examples=examples))
    assert found == [
        (
            "apis.MATH.examples[0][1]",
            f"matching '{'a' * 57}...' against the pattern of MATH took over 0.05 s",
        )
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, len(SEED)), st.integers(0, 6), st.text('{}[]":,0 -\n\\(>', max_size=3)), max_size=4
    )
)
@settings(max_examples=150, deadline=None)
def test_a_damaged_text_is_read_or_refused_with_places(cuts: list[tuple[int, int, str]]) -> None:
    text = SEED
    for at, length, put in cuts:
        text = text[:at] + put + text[at + length :]
    reading = read(text)
    wrong = [fault for fault in reading.faults if fault.level == "error"]
    assert (reading.manifest is None) == bool(wrong)
    lines = text.count("\n") + 1
    assert all(fault.line is not None and 1 <= fault.line <= lines and (fault.column or 0) >= 1 for fault in wrong)
    if reading.manifest is not None:
        compile_plugins([reading.manifest])


@given(st.sampled_from(["url", "arguments", "history", "examples", "pattern"]), json_values)
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_field_is_a_fault_or_fine(field: str, value: Any) -> None:
    reading = read(json.dumps(math(**{field: value})))
    if reading.manifest is not None:
        compile_plugins([reading.manifest])


def test_load_names_file_place_and_number_of_faults(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(SEED.replace("https", "gopher"), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{file}:6:14 apis.MATH.url: 'gopher://example.tld/api/math' is not an http(s) address")
    assert "1 more fault: toolkit plugin lint" in message
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8 text"):
        load(file)
    with pytest.raises(UserError, match="no such file"):
        load(tmp_path / "other.json")


def test_validate_takes_data_and_manifests_are_immutable() -> None:
    value = math()
    manifest = validate(copy.deepcopy(value))
    assert validate(value) == manifest
    with pytest.raises(ValueError, match="frozen"):
        manifest.name = "other"  # type: ignore[misc]
    with pytest.raises(UserError, match=r"here apis\.MATH\.url"):
        validate(math(url="x"), "here")


def test_builtin_unknown_name_is_refused() -> None:
    with pytest.raises(UserError, match="no built-in plugin"):
        builtin("../manifest")


def test_published_schema_is_current() -> None:
    file = resources.files("toolkit.plugins") / "manifest.schema.json"
    assert file.read_text(encoding="utf-8") == schema_text(), "write schema_text() to manifest.schema.json"
