from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from small_spec import document, drip, raw_server, whole

from toolkit.errors import UserError
from toolkit.restgpt import spec_load
from toolkit.restgpt.spec import load_spec, spec_from_document

OLD = {
    "swagger": "2.0",
    "info": {"title": "Old", "version": "1"},
    "host": "old.test",
    "basePath": "/api",
    "schemes": ["http", "https"],
    "consumes": ["application/xml", "application/json"],
    "produces": ["application/json"],
    "securityDefinitions": {"key": {"type": "apiKey", "in": "query", "name": "k"}, "user": {"type": "basic"}},
    "security": [{"key": []}, {"user": []}],
    "parameters": {"Page": {"name": "page", "in": "query", "type": "integer", "enum": [1, 2]}},
    "paths": {
        "/pets": {
            "get": {
                "parameters": [{"$ref": "#/parameters/Page"},
                               {"name": "tag", "in": "query", "type": "array", "items": {"type": "string"},
                                "collectionFormat": "multi"}],
                "responses": {"200": {"description": "ok", "schema": {"$ref": "#/definitions/Pet"}}},
            },
            "post": {
                "parameters": [{"name": "it", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {"201": {"description": "made"}},
            },
            "put": {
                "parameters": [{"name": "name", "in": "formData", "type": "string", "required": True}],
                "responses": {"default": {"description": "done", "schema": {"type": "object"}}},
                "security": [],
            },
        }
    },
    "definitions": {
        "Pet": {"type": "object", "properties": {"friends": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}}
    },
}  # fmt: skip


def write(folder: Path, text: str, name: str = "api.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_json_and_yaml_give_the_same_spec(tmp_path: Path) -> None:
    one = load_spec(write(tmp_path, json.dumps(document()), "a.json"))
    two = load_spec(str(write(tmp_path, yaml.safe_dump(document()), "b.yaml")))
    assert {each.key: each for each in one.endpoints} == {each.key: each for each in two.endpoints}


def test_openapi_2(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, yaml.safe_dump(OLD)))
    assert [server.url() for server in spec.servers] == ["https://old.test/api", "http://old.test/api"]
    get, post, put = (spec.match(verb, "/pets") for verb in ("get", "post", "put"))
    assert get and post and put
    page, tag = get.parameters
    assert (page.name, page.place, dict(page.schema)) == ("page", "query", {"type": "integer", "enum": [1, 2]})
    assert tag.explode and not page.required
    assert post.body and post.body.media_type == "application/json" and post.body.required
    assert spec.resolve(post.body.schema)["type"] == "object"
    assert put.body and put.body.media_type == "application/x-www-form-urlencoded"
    assert put.body.schema["required"] == ["name"]
    assert get.security == (("key",), ("user",)) and put.security == ()
    assert spec.schemes["key"].place == "query" and spec.schemes["user"].kind == "basic"
    assert put.success and put.success.status == "default"
    assert post.success and post.success.schema is None
    assert spec.repairs == []


def test_openapi_31_features() -> None:
    spec = spec_from_document(
        {
            "openapi": "3.1.0",
            "info": {"title": "New", "version": "1"},
            "servers": [
                {
                    "url": "https://{region}.test/{stage}",
                    "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}, "stage": {"default": "v2"}},
                }
            ],
            "paths": {"/a/{x}": {"$ref": "#/components/pathItems/A"}},
            "components": {
                "pathItems": {
                    "A": {
                        "parameters": [
                            {"name": "x", "in": "path", "required": True, "schema": {"type": ["string", "null"]}}
                        ],
                        "get": {"responses": {"2XX": {"$ref": "#/components/responses/Fine"}}},
                        "trace": {"responses": {"default": {"description": ""}}},
                    }
                },
                "responses": {
                    "Fine": {"description": "", "content": {"application/hal+json": {"schema": {"const": 1}}}}
                },
            },
        }
    )
    assert [endpoint.key for endpoint in spec.endpoints] == ["GET /a/{x}", "TRACE /a/{x}"]
    success = spec.endpoints[0].success
    assert success and success.status == "2XX" and success.schema == {"const": 1}
    assert spec.servers[0].url() == "https://eu.test/v2"
    assert spec.servers[0].url({"region": "us"}) == "https://us.test/v2"
    with pytest.raises(ValueError, match="region"):
        spec.servers[0].url({"region": "moon"})


def test_operation_parameters_win_over_path_parameters() -> None:
    spec = spec_from_document(
        {
            "openapi": "3.0.0",
            "paths": {
                "/a": {
                    "parameters": [{"name": "n", "in": "query", "schema": {"type": "string"}},
                                   {"name": "m", "in": "query", "schema": {"type": "string"}}],
                    "get": {"parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}],
                            "responses": {"200": {"description": ""}}},
                }
            },
        }
    )  # fmt: skip
    assert {each.name: each.schema["type"] for each in spec.endpoints[0].parameters} == {"n": "integer", "m": "string"}


def test_references_are_lazy_and_survive_cycles() -> None:
    faulty = document()
    schemas = faulty["components"]["schemas"]
    schemas["Loop"] = {"$ref": "#/components/schemas/Pool"}
    schemas["Pool"] = {"$ref": "#/components/schemas/Loop"}
    schemas["Away"] = {"$ref": "https://elsewhere.test/x.json#/A"}
    schemas["Lost"] = {"$ref": "#/components/schemas/Nobody"}
    spec = spec_from_document(faulty)
    item = spec.resolve({"$ref": "#/components/schemas/Item", "description": "mine"})
    assert item["description"] == "mine" and item["properties"]["parent"] == {"$ref": "#/components/schemas/Item"}
    assert [spec.resolve(schemas[name]) for name in ("Loop", "Away", "Lost")] == [{}, {}, {}]
    notes = "\n".join(spec.repairs)
    assert "leads only to itself" in notes and "never fetched" in notes and "points nowhere" in notes


def test_restbench_descriptions_load_with_their_known_faults(shared_data: Path) -> None:
    tmdb = load_spec(shared_data / "restbench" / "tmdb_oas.json")
    assert (len(tmdb.endpoints), tmdb.repairs) == (54, ["GET /discover/movie: ignored the unknown key 'cache'"])
    credits = tmdb.match("GET", "/movie/{movie_id}/credits")
    assert credits and [each.name for each in credits.of_place("path")] == ["movie_id"]
    spotify = load_spec(shared_data / "restbench" / "spotify_oas.json")
    assert len(spotify.endpoints) == 40
    count = {
        word: sum(f"{word} was" in note for note in spotify.repairs) for word in ("required", "additionalProperties")
    }
    assert count == {"required": 49, "additionalProperties": 13}
    assert sum("imum was" in note for note in spotify.repairs) == 48
    playlist = spotify.match("POST", "/users/{user_id}/playlists")
    assert playlist and playlist.success and playlist.success.status == "201" and playlist.success.schema
    delete = spotify.match("DELETE", "/playlists/{playlist_id}/tracks")
    assert delete and delete.body and delete.body.required is not None


def test_every_restbench_gold_step_finds_its_endpoint(shared_data: Path) -> None:
    misses = []
    for scenario in ("tmdb", "spotify"):
        spec = load_spec(shared_data / "restbench" / f"{scenario}_oas.json")
        for task in json.loads((shared_data / "restbench" / f"{scenario}.json").read_text()):
            for step in task["solution"]:
                method, path = step.split(maxsplit=1)
                if spec.match(method, path) is None:
                    misses.append(step.strip())
    assert misses == ["GET /track/{id}"]


REPAIRED = {
    "openapi": "3.0.0",
    "paths": {
        "a/{x}?v=1": {
            "get": {
                "parameters": [
                    {"name": "n", "in": "query", "required": "true", "schema": {"type": "int", "maximum": "9"}},
                    {"name": "n", "in": "query", "schema": {"type": "integer", "enum": 4}},
                    {"in": "query"},
                    {"name": "stranger", "in": "path", "required": True},
                ],
            },
            "post": "later",
        },
        "/b": None,
    },
    "servers": [{"url": "/relative"}],
}


def test_faults_are_mended_and_named() -> None:
    spec = spec_from_document(REPAIRED)
    endpoint = spec.endpoints[0]
    assert endpoint.key == "GET /a/{x}" and spec.servers == ()
    assert [(each.name, each.place) for each in endpoint.parameters] == [("n", "query"), ("x", "path")]
    assert endpoint.parameters[0].schema["enum"] == [4]
    notes = "\n".join(spec.repairs)
    for part in ("required was 'true'", "type was 'int'", "maximum was '9'", "enum was 4", "is there twice",
                 "without a name", "'stranger' is not in the path", "'x' is not described", "POST /a/{x}: not a",
                 "path /b: not a mapping", "no responses", "'/relative'", "read as '/a/{x}'"):  # fmt: skip
        assert part in notes, part


def test_a_property_may_be_named_like_a_keyword() -> None:
    properties = {"required": {"type": "string"}, "maximum": {"type": "string"}, "default": {"type": "int"}}
    schema = {"type": "object", "properties": properties, "example": {"required": "true"}}
    responses = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    spec = spec_from_document({"openapi": "3.0.0", "paths": {"/a": {"get": {"responses": responses}}}})
    success = spec.endpoints[0].success
    assert success and success.schema and success.schema["example"] == {"required": "true"}
    assert success.schema["properties"]["default"] == {"type": "integer"}
    assert len(spec.repairs) == 1


def test_yaml_is_read_as_its_core_schema(tmp_path: Path) -> None:
    text = """
openapi: 3.0.0
paths:
  /a:
    get:
      parameters:
      - {name: country, in: query, schema: {type: string, enum: [NO, on, 2020-01-01, 010]}}
      responses:
        200: {description: fine}
"""
    endpoint = load_spec(write(tmp_path, text)).endpoints[0]
    assert endpoint.parameters[0].schema["enum"] == ["NO", "on", "2020-01-01", 10]
    assert endpoint.responses[0].status == "200"


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9)
)

HOPELESS = {
    "empty": ("", "empty"),
    "text": ("just words", "no mapping"),
    "list": ("[1, 2]", "no mapping"),
    "html": ("<!doctype html><html><body>: [</body></html>", "neither JSON nor YAML|no mapping"),
    "broken": ('{"openapi": "3.0.0", ', "neither JSON nor YAML"),
    "other": ('{"asyncapi": "2.0"}', 'neither "openapi" nor "swagger"'),
    "version": ('{"openapi": "4.0.0", "paths": {"/a": {}}}', "4.0.0 is not supported"),
    "swagger 1": ('{"swagger": 1.2, "paths": {"/a": {}}}', "1.2 is not supported"),
    "no paths": ('{"openapi": "3.0.0", "paths": {}}', "nothing can be called"),
    "no operations": ('{"openapi": "3.0.0", "paths": {"/a": {"get": 1}}}', "nothing can be called"),
    "deep json": ("[" * 100_000, "nested deeper"),
    "deep yaml": ("a: " + "[" * 5000, "nested|neither"),
    "deep but whole": ('{"a":' * 300 + "1" + "}" * 300, "nested deeper"),
    "alias bomb": (BOMB, "aliases"),
    "merge bomb": (BOMB.replace("[", "{<<: [").replace("]", "]}"), "aliases"),
    "self alias": ("a: &a [*a]", "contains itself"),
    "python tag": ("a: !!python/object/apply:os.system [id]", "neither JSON nor YAML"),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_unusable_descriptions_give_one_clear_line(tmp_path: Path, name: str) -> None:
    text, expected = HOPELESS[name]
    path = write(tmp_path, text)
    with pytest.raises(UserError, match=expected) as error:
        load_spec(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"openapi": "\xff"}')
    for path, expected in ((tmp_path / "none.json", "cannot be read"), (tmp_path, "cannot be read"),
                           (tmp_path / "latin.json", "UTF-8"), ("a\0b", "is not a path")):  # fmt: skip
        with pytest.raises(UserError, match=expected):
            load_spec(path)


def test_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_load, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="larger than"):
        load_spec(write(tmp_path, json.dumps(document())))


def test_from_a_url_with_relative_servers() -> None:
    content = json.dumps({**document(), "servers": [{"url": "/v9"}]}).encode()
    with raw_server(whole(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))) as (url, _):
        spec = load_spec(f"{url}/docs/openapi.json")
        assert [server.url() for server in spec.servers] == [f"{url}/v9"]


def test_from_a_url_that_fails() -> None:
    missing = whole(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    with raw_server(missing) as (url, _), pytest.raises(UserError, match="404"):
        load_spec(url)
    with pytest.raises(UserError, match="cannot be fetched"):
        load_spec("http://127.0.0.1:9/none")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: x", b"HTTP/1.1 200 OK\r\n\r\n{"], ids=["headers", "body"])
def test_from_a_slow_url(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_load, "FETCH_SECONDS", 0.3)
    with raw_server(drip(start, 0.002)) as (url, _), pytest.raises(UserError, match=r"within 0\.3 s"):
        load_spec(url)
