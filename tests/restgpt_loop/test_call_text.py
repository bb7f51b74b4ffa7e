"""Patterns and reading of calls, and what looks like an invented id; also on the two RestBench descriptions."""

from __future__ import annotations

import re

import pytest
from loop_parts import document

from toolkit.restgpt.asking import Unusable
from toolkit.restgpt.call_shape import call_shape
from toolkit.restgpt.call_text import calls_pattern, find_endpoint, path_pattern
from toolkit.restgpt.evidence import Evidence
from toolkit.restgpt.exchange import Exchange
from toolkit.restgpt.spec import load_spec, spec_from_document


def test_the_pattern_knows_the_endpoints_and_their_types(spec):
    pattern = re.compile(calls_pattern(spec, spec.endpoints))
    for good in ("GET /tools/search", "GET /tools/12", "DELETE /rentals/3", "POST /rentals"):
        assert pattern.fullmatch(good)
    for bad in (
        "GET /tools/{tool_id}",
        "GET /tools/abc",
        "GET /rentals",
        "GET /tools/search/1",
        "GET /tools/1/2",
        "PUT /rentals",
    ):
        assert not pattern.fullmatch(bad)


def test_listed_path_values_are_the_only_ones():
    described = document()
    described["paths"]["/tools/{tool_id}"]["parameters"][0]["schema"] = {"type": "string", "enum": ["a.b", "c"]}
    spec = spec_from_document(described)
    endpoint = spec.match("GET", "/tools/c")
    pattern = re.compile(path_pattern(spec, endpoint))
    assert pattern.fullmatch("/tools/a.b") and not pattern.fullmatch("/tools/axb")


@pytest.mark.parametrize("name", ["tmdb", "spotify"])
def test_every_endpoint_of_restbench_is_found_by_its_own_pattern(shared_data, name):
    spec = load_spec(shared_data / "restbench" / f"{name}_oas.json")
    for endpoint in spec.endpoints:
        filled = re.sub(r"\{\w+\}", "1", endpoint.path)
        if re.fullmatch(path_pattern(spec, endpoint), filled):
            route, path = find_endpoint(spec, f"{endpoint.method} {filled}")
            assert (route.target, path) == (endpoint, filled)
        shape = call_shape(spec, endpoint)
        assert shape["properties"]["method"] == {"const": endpoint.method} and "path" in shape["required"]


def test_open_parameters_stay_open_and_values_are_quoted(spec):
    assert find_endpoint(spec, "GET /tools/<id>")[1] == "/tools/{tool_id}"
    assert find_endpoint(spec, "GET /tools/{tool_id}")[1] == "/tools/{tool_id}"
    for text in ("", "GET", "GET ", "   ", "GET /a b", "\x00 \x00"):
        with pytest.raises(Unusable):
            find_endpoint(spec, text)


def test_the_shape_of_a_call(spec):
    shape = call_shape(spec, spec.match("GET", "/tools/search"))["properties"]
    assert shape["query"]["required"] == ["name"] and shape["query"]["properties"]["order"] == {
        "enum": ["price", "name"]
    }
    assert "body" not in shape
    body = call_shape(spec, spec.match("POST", "/rentals"))
    assert body["properties"]["body"]["required"] == ["tool_id", "days"] and "body" in body["required"]


def test_what_looks_invented():
    evidence = Evidence("Show movie 603 from 1999")
    evidence.add(Exchange("GET", json={"id": "aBc123XYZ", "n": 55555}))
    for known in ("603", "abc123xyz", "55555", "12", "me", "2024", "2024-05-01", "popular"):
        assert not evidence.invented(known)
    for unknown in ("98765", "7Xy123456"):
        assert evidence.invented(unknown)
