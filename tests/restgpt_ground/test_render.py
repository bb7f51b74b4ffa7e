from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spec import document, small_spec

from toolkit.restgpt.prune import prune_json
from toolkit.restgpt.relevance import Relevance, stems
from toolkit.restgpt.render import render_call, render_endpoints, render_schema
from toolkit.restgpt.schema_check import schema_problems
from toolkit.restgpt.spec import Spec, load_spec, spec_from_document
from toolkit.restgpt.text import first_sentence


def count(text: str) -> int:
    """A stand-in tokenizer: four characters a token, as in the published sizes."""
    return (len(text) + 3) // 4


@pytest.fixture(scope="module")
def tmdb(shared_data: Path) -> Spec:
    return load_spec(shared_data / "restbench" / "tmdb_oas.json")


@pytest.fixture(scope="module")
def spotify(shared_data: Path) -> Spec:
    return load_spec(shared_data / "restbench" / "spotify_oas.json")


def test_endpoint_lines_keep_their_order_and_say_what_is_missing(tmdb: Spec) -> None:
    everything = render_endpoints(tmdb, 10_000, count)
    assert len(everything.splitlines()) == 54
    assert "GET /movie/{movie_id}/credits: Get the cast and crew for a movie" in everything
    question = "which company produced the film"
    for budget in (1500, 700, 300, 60):
        text = render_endpoints(tmdb, budget, count, question)
        assert count(text) <= budget
        keys = [line.split(":")[0] for line in text.splitlines() if line.startswith("GET")]
        assert keys == [key for key in (each.key for each in tmdb.endpoints) if key in keys]
        assert "GET /search/company" in keys
        left = 54 - len(keys)
        assert (f"({left} more endpoints not shown)" in text) == (left > 0)


def test_a_choice_of_endpoints_can_be_rendered(tmdb: Spec) -> None:
    assert render_endpoints(tmdb, 100, count, endpoints=tmdb.endpoints[:2]).count("\n") == 1


def test_call_documentation_has_what_the_reference_lost(tmdb: Spec) -> None:
    endpoint = tmdb.match("GET", "/movie/{id}/credits")
    assert endpoint is not None
    assert "Path parameters:\n- movie_id (integer, required)" in render_call(tmdb, endpoint, 500, count)


def test_call_documentation_within_a_budget(spotify: Spec) -> None:
    endpoint = spotify.match("GET", "/search")
    assert endpoint is not None
    full = render_call(spotify, endpoint, 5000, count)
    assert "one of album, artist, playlist, track" in full and "0 to 50, default 20" in full and "not shown" not in full
    small = render_call(spotify, endpoint, 90, count, "in which market")
    assert count(small) <= 90 and "- q (string, required)" in small and "- market" in small
    assert "optional parameters not shown" in small


def test_call_documentation_shows_the_body() -> None:
    spec = small_spec()
    text = render_call(spec, spec.endpoints[1], 400, count)
    assert "Request body (application/json, required):" in text and "Required in the body: name" in text
    assert '"kind": "one of book, map"' in text and '"parent": "Item (as above)"' in text


@pytest.mark.parametrize("budget", [30, 120, 500, 2500])
def test_every_response_schema_is_valid_json_within_its_budget(tmdb: Spec, spotify: Spec, budget: int) -> None:
    for spec in (tmdb, spotify):
        for endpoint in spec.endpoints:
            text = render_schema(spec, endpoint, budget, count, "release date of the album")
            if text is None:
                assert endpoint.success is None or endpoint.success.schema is None
            else:
                json.loads(text)
                assert count(text) <= budget


def test_201_and_deep_fields_are_there(spotify: Spec) -> None:
    made = spotify.match("POST", "/users/{user_id}/playlists")
    search = spotify.match("GET", "/search")
    assert made is not None and search is not None
    assert "snapshot_id" in (render_schema(spotify, made, 3000, count) or "")
    shape = json.loads(render_schema(spotify, search, 200, count, "release date of an album") or "")
    assert "release_date" in shape["albums"]["items"][0]


def test_shapes_merge_alternatives_and_stop_at_cycles() -> None:
    text = document()
    text["components"]["schemas"]["Item"] = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer", "nullable": True}}},
            {"oneOf": [{"properties": {"b": {"type": "string", "format": "date"}}}, {"properties": {"c": {}}}]},
        ],
        "properties": {"self": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                       "map": {"type": "object", "additionalProperties": {"type": "number"}},
                       "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    }  # fmt: skip
    spec = spec_from_document(text)
    assert json.loads(render_schema(spec, spec.endpoints[0], 1000, count) or "") == {
        "a": "integer", "b": "string (date)", "c": "any", "self": ["Item (as above)"], "map": {"<any key>": "number"},
        "either": "string or integer",
    }  # fmt: skip


def entangled() -> dict[str, Any]:
    """A schema that refers to itself in every direction: naive expansion or checking never ends."""
    text = document()
    reference = {"$ref": "#/components/schemas/Item"}
    names = [f"S{n}" for n in range(30)]
    for name in names:
        others = [{"$ref": f"#/components/schemas/{other}"} for other in names if other != name]
        text["components"]["schemas"][name] = {"properties": dict(zip(names, others, strict=False)), "anyOf": others}
    text["components"]["schemas"]["Item"] = {
        "allOf": [reference, {"$ref": "#/components/schemas/S1"}],
        "anyOf": [reference] * 9,
    }
    return text


def test_entangled_schemas_end() -> None:
    spec = spec_from_document(entangled())
    assert json.loads(render_schema(spec, spec.endpoints[0], 500, count) or "{}") is not None
    assert isinstance(schema_problems({"S1": {"S2": 1}}, {"$ref": "#/components/schemas/Item"}, spec.resolve), list)


CREDITS = {
    "id": 603,
    "cast": [{"id": n, "name": f"Actor {n}", "character": f"Role {n}", "credit_id": "c" * 24} for n in range(200)],
    "crew": [{"id": 900 + n, "name": f"Person {n}", "job": "Director" if n == 70 else "Grip"} for n in range(100)],
}


def test_an_actual_response_keeps_what_the_question_is_about() -> None:
    text = prune_json(CREDITS, "Who directed the movie?", 150, count)
    kept = json.loads(text)
    assert count(text) <= 150
    assert {"id": 970, "name": "Person 70", "job": "Director"} in kept["crew"]
    assert kept["crew"][-1].endswith("more")


def test_long_texts_shrink_before_fields_go() -> None:
    value = {"title": "T", "overview": "word " * 500, "id": 1}
    kept = json.loads(prune_json(value, "", 60, count))
    assert kept["title"] == "T" and kept["id"] == 1 and kept["overview"].endswith("...")


def test_what_fits_is_not_touched() -> None:
    assert json.loads(prune_json(CREDITS, "", 100_000, count)) == CREDITS


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=40)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=40
)


@settings(max_examples=30, deadline=None)
@given(VALUES, st.text(max_size=30), st.integers(0, 80))
def test_any_value_stays_json_within_its_budget(value: Any, question: str, budget: int) -> None:
    text = prune_json(value, question, budget, count)
    assert type(json.loads(text)) is type(value) or text == '""'
    assert count(text) <= max(budget, 1)


def test_words_meet_by_their_beginnings() -> None:
    assert stems("releaseDate") & stems("released") and stems("movie_id") & stems("movies") and stems("the of") == set()
    relevance = Relevance("rare common", ["common", "common x", "common y", "rare"])
    assert relevance.score("rare") > relevance.score("common") > relevance.score("x") == 0


def test_sentences() -> None:
    assert first_sentence("Use e.g. v1.2 <b>now</b>. Then stop.") == "Use e.g. v1.2 now"
    assert first_sentence("See [the docs](http://x.y/z) &amp; more\n\nNext.") == "See the docs & more Next"
    assert first_sentence("word " * 100, 20) == "word word word word ..."
    assert first_sentence("") == ""
