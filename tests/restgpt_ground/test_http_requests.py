"""What is sent, and above all what is not."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from small_spec import document, small_spec

from toolkit.errors import UserError
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import Prepared, Refusal, RestClient, credentials_from_environment
from toolkit.restgpt.http_parameters import read_value
from toolkit.restgpt.spec import spec_from_document

SPEC = small_spec()


class Recorder:
    """A service that remembers what it was sent and always answers `{}`."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(200, json={})


def client(recorder: Recorder, **options: Any) -> RestClient:
    return RestClient(SPEC, transport=recorder, **options)


SENT = [
    (RestCall("get", "/items", query={"q": "a b&c"}), "GET", "/v1/items?q=a%20b%26c"),
    (RestCall("GET", "/items?q=x&limit=3"), "GET", "/v1/items?q=x&limit=3"),
    (RestCall("GET", "/items?q=x", query={"q": "y"}), "GET", "/v1/items?q=y"),
    (RestCall("GET", "/items", query={"q": "x", "limit": "5"}), "GET", "/v1/items?q=x&limit=5"),
    (RestCall("GET", "/items", query={"q": 7, "kind": "book,map"}), "GET", "/v1/items?q=7&kind=book&kind=map"),
    (RestCall("GET", "/items", query={"q": "x", "kind": ["map"]}), "GET", "/v1/items?q=x&kind=map"),
    (RestCall("GET", "/items", query={"q": "x", "fields": ["a", "b"]}), "GET", "/v1/items?q=x&fields=a%2Cb"),
    (RestCall("GET", "/items", query={"q": "x", "limit": None}), "GET", "/v1/items?q=x"),
    (RestCall("GET", "/items/7"), "GET", "/v1/items/7"),
    (RestCall("GET", "/items/{item_id}", {"item_id": 7}), "GET", "/v1/items/7"),
    (RestCall("GET", "/items/{id}", {"item_id": "7"}), "GET", "/v1/items/7"),
    (RestCall("GET", "http://api.test/v1/items/7"), "GET", "/v1/items/7"),
    (RestCall("GET", "/files/{name}.csv", {"name": "a/../b?c#d"}), "GET", "/v1/files/a%2F..%2Fb%3Fc%23d.csv"),
    (RestCall("DELETE", "/items/7"), "DELETE", "/v1/items/7"),
    (RestCall("POST", "/items", body={"name": "x", "parent": {"name": "y"}}), "POST", "/v1/items"),
]


@pytest.mark.parametrize(("call", "method", "target"), SENT)
def test_what_is_sent(call: RestCall, method: str, target: str) -> None:
    recorder = Recorder()
    exchange = client(recorder).call(call)
    assert exchange.ok and exchange.was_sent, exchange
    (request,) = recorder.requests
    assert (request.method, request.url.host, request.url.raw_path.decode()) == (method, "api.test", target)
    assert exchange.url == f"http://api.test{target}"
    if call.body is not None:
        assert json.loads(request.content) == call.body and request.headers["content-type"] == "application/json"


REFUSED = [
    (RestCall("GET", "/nothing"), "unknown_endpoint", "no endpoint GET /nothing"),
    (RestCall("PATCH", "/items/7"), "unknown_endpoint", "DELETE, GET"),
    (RestCall("GET", "https://evil.test/items/7"), "foreign_server", "evil.test"),
    (RestCall("GET", "//evil.test/items/7"), "foreign_server", "evil.test"),
    (RestCall("GET", "http://api.test@evil.test/v1/items/7"), "foreign_server", "evil.test"),
    (RestCall("GET", "http://api.test.evil.test/v1/items/7"), "foreign_server", "evil.test"),
    (RestCall("GET", "http://["), "unknown_endpoint", "not a URL"),
    (RestCall("GET", "/items/{item_id}"), "invalid_call", "item_id is not filled"),
    (RestCall("GET", "/items/<id>"), "invalid_call", "item_id is not filled"),
    (RestCall("GET", "/items/{item_id}", {"item_id": ""}), "invalid_call", "item_id is not filled"),
    (RestCall("GET", "/items/{item_id}", {"item_id": "{id}"}), "invalid_call", "item_id is not filled"),
    (RestCall("GET", "/items/abc"), "invalid_call", "item_id must be integer, not 'abc'"),
    (RestCall("GET", "/items/7", {"other": 1}), "invalid_call", "unknown path parameter 'other' (known: item_id)"),
    (RestCall("GET", "/items"), "invalid_call", "query parameter q is required"),
    (RestCall("GET", "/items", query={"q": None}), "invalid_call", "query parameter q is required"),
    (
        RestCall("GET", "/items", query={"q": "x", "page": 2}),
        "invalid_call",
        "unknown query parameter 'page' (known: limit",
    ),
    (RestCall("GET", "/items", query={"q": "x", "limit": 0}), "invalid_call", "limit must be at least 1"),
    (RestCall("GET", "/items", query={"q": "x", "limit": "many"}), "invalid_call", "limit must be integer"),
    (RestCall("GET", "/items", query={"q": "x", "kind": "film"}), "invalid_call", "must be one of book, map"),
    (RestCall("GET", "/items", query={"q": {"a": 1}}), "invalid_call", "q must be string"),
    (RestCall("GET", "/items", query={"q": "x"}, headers={"X-Evil": "1"}), "invalid_call", "unknown header"),
    (RestCall("GET", "/items", query={"q": "x"}, headers={"X-Trace": "a\r\nHost: b"}), "invalid_call", "one line"),
    (RestCall("GET", "/items/7", body={"a": 1}), "invalid_call", "takes no request body"),
    (RestCall("POST", "/items"), "invalid_call", "body is required"),
    (RestCall("POST", "/items", body={}), "invalid_call", "body.name is required"),
    (
        RestCall("POST", "/items", body={"name": "x", "colour": 1}),
        "invalid_call",
        "body.colour is not a known property",
    ),
    (RestCall("POST", "/items", body={"name": 5}), "invalid_call", "body.name must be string"),
    (RestCall("POST", "/items", body={"name": "x", "count": -1}), "invalid_call", "body.count must be at least 0"),
    (RestCall("POST", "/items", body={"name": "x", "count": True}), "invalid_call", "body.count must be integer"),
    (
        RestCall("POST", "/items", body={"name": "x", "parent": {"name": ""}}),
        "invalid_call",
        "body.parent.name must have",
    ),
    (RestCall("POST", "/items", body=[1]), "invalid_call", "must be object"),
    (RestCall("GET", "/files/...csv"), "invalid_call", "may not be '..'"),
]


@pytest.mark.parametrize(("call", "kind", "part"), REFUSED)
def test_what_is_never_sent(call: RestCall, kind: str, part: str) -> None:
    recorder = Recorder()
    exchange = client(recorder, credentials={"token": "secret-token"}).call(call)
    assert recorder.requests == []
    assert (exchange.error, exchange.was_sent, exchange.url, exchange.seconds) == (kind, False, None, None)
    assert part in exchange.message


def test_a_dry_run_shows_the_request_without_the_secret() -> None:
    prepared = client(Recorder(), credentials={"token": "secret-token"}).check(RestCall("GET", "/items/7"))
    assert isinstance(prepared, Prepared) and prepared.url == "http://api.test/v1/items/7"
    assert "secret" not in repr(prepared)
    assert isinstance(client(Recorder()).check(RestCall("GET", "/x")), Refusal)


def schemes_spec(scheme: dict[str, Any]) -> Any:
    text = document()
    text["components"]["securitySchemes"]["token"] = scheme
    return spec_from_document(text)


SCHEMES = [
    ({"type": "http", "scheme": "bearer"}, "authorization", "Bearer s3cret/key"),
    ({"type": "oauth2", "flows": {}}, "authorization", "Bearer s3cret/key"),
    ({"type": "http", "scheme": "basic"}, "authorization", "Basic czNjcmV0L2tleQ=="),
    ({"type": "apiKey", "in": "header", "name": "X-Key"}, "x-key", "s3cret/key"),
    ({"type": "apiKey", "in": "cookie", "name": "sid"}, "cookie", "sid=s3cret/key"),
]


@pytest.mark.parametrize(("scheme", "header", "value"), SCHEMES)
def test_credentials_in_headers(scheme: dict[str, Any], header: str, value: str) -> None:
    recorder = Recorder()
    spec = schemes_spec(scheme)
    exchange = RestClient(spec, credentials={"token": "s3cret/key"}, transport=recorder).call(
        RestCall("GET", "/items/7")
    )
    assert recorder.requests[0].headers[header] == value
    assert "s3cret" not in json.dumps(exchange.record()) and "***" in exchange.headers.values()


def test_credentials_in_the_query_are_not_in_the_record() -> None:
    recorder = Recorder()
    spec = schemes_spec({"type": "apiKey", "in": "query", "name": "api_key"})
    rest = RestClient(spec, credentials={"token": "s3cret/key"}, transport=recorder)
    exchange = rest.call(RestCall("GET", "/items", query={"q": "x"}))
    assert recorder.requests[0].url.raw_path == b"/v1/items?q=x&api_key=s3cret%2Fkey"
    assert exchange.url == "http://api.test/v1/items?q=x"
    own = rest.call(RestCall("GET", "/items", query={"q": "x", "api_key": "mine"}))
    assert not own.was_sent and "added for you" in own.message


def test_echoed_secrets_are_hidden_in_every_spelling() -> None:
    def echo(request: httpx2.Request) -> httpx2.Response:
        headers = dict(request.headers)
        return httpx2.Response(200, json={"headers": headers, "quoted": "s3cret%2Fkey", "slashed": "s3cret/key"})

    rest = RestClient(SPEC, credentials={"token": "s3cret/key"}, transport=echo)
    exchange = rest.call(RestCall("GET", "/items/7"))
    assert exchange.json["headers"]["authorization"] == "Bearer ***" and "s3cret" not in json.dumps(exchange.record())


def test_credentials_come_from_the_environment() -> None:
    assert credentials_from_environment(SPEC, {"REST_KEY_TOKEN": " a "}) == {"token": "a"}
    assert credentials_from_environment(SPEC, {"REST_KEY": "b"}) == {"token": "b"}
    assert credentials_from_environment(SPEC, {"TOKEN": "c"}) == {}


def test_no_credential_without_a_requirement() -> None:
    text = document()
    text["paths"]["/items/latest"]["get"]["security"] = []
    recorder = Recorder()
    rest = RestClient(spec_from_document(text), credentials={"token": "s3cret"}, transport=recorder)
    rest.call(RestCall("GET", "/items/latest"))
    assert "authorization" not in recorder.requests[0].headers


def test_the_first_alternative_with_all_its_secrets_is_used() -> None:
    text = document()
    text["components"]["securitySchemes"]["key"] = {"type": "apiKey", "in": "header", "name": "X-Key"}
    text["security"] = [{"token": [], "key": []}, {"key": []}, {"token": []}]
    recorder = Recorder()
    RestClient(spec_from_document(text), credentials={"token": "tttt"}, transport=recorder).call(
        RestCall("GET", "/items/7")
    )
    assert (
        "x-key" not in recorder.requests[0].headers and recorder.requests[0].headers["authorization"] == "Bearer tttt"
    )


def test_missing_credentials_are_named_after_a_401() -> None:
    rest = RestClient(SPEC, transport=lambda request: httpx2.Response(401, json={"error": "no"}))
    exchange = rest.call(RestCall("GET", "/items/7"))
    assert exchange.error == "unauthorized" and "set REST_KEY_TOKEN" in exchange.message


def test_wrong_configuration_is_the_users_mistake() -> None:
    bare = spec_from_document({**document(), "servers": []})
    with pytest.raises(UserError, match="names no server"):
        RestClient(bare)
    for server in ("ftp://x", "api.test", "http://{host}/", "http://user:pw@api.test", "http://api.test?x=1"):
        with pytest.raises(UserError):
            RestClient(bare, server=server)
    with pytest.raises(UserError, match="no security scheme 'tokn'"):
        RestClient(SPEC, credentials={"tokn": "x"})


def test_the_users_server_replaces_the_descriptions() -> None:
    recorder = Recorder()
    rest = client(recorder, server="http://localhost:81/base/")
    for path in ("/items/7", "http://localhost:81/base/items/7", "http://api.test/v1/items/7"):
        assert rest.call(RestCall("GET", path)).url == "http://localhost:81/base/items/7"


READINGS = [
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x", "x"),
    ({"allOf": [{"enum": ["a", "b"]}]}, "b", "b"),
    ({"enum": [1, 2]}, "2", 2),
    ({"type": "boolean"}, "True", True),
    ({"type": "number"}, "1e400", "1e400"),
    ({"type": "string"}, 1.0, "1"),
    ({"type": "string"}, True, "true"),
    ({"type": ["integer", "string"]}, "7", "7"),
    ({"type": "array", "items": {"type": "integer"}}, "1, 2", [1, 2]),
    ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
    ({"type": "array", "items": {"type": "integer"}}, 3, [3]),
    ({"type": "array", "items": {"type": "integer"}}, ["4"], [4]),
    ({"type": "object"}, "x", "x"),
]


@pytest.mark.parametrize(("schema", "given", "meant"), READINGS)
def test_what_a_value_means(schema: dict[str, Any], given: Any, meant: Any) -> None:
    read = read_value(given, schema, lambda node: node)
    assert read == meant and type(read) is type(meant)


def test_restbench_calls_of_every_kind(shared_data: Any) -> None:
    from toolkit.restgpt.spec import load_spec

    recorder = Recorder()
    spotify = RestClient(load_spec(shared_data / "restbench" / "spotify_oas.json"), transport=recorder)
    assert spotify.call(RestCall("GET", "/search", query={"q": "x", "type": "album,artist", "limit": "1"})).ok
    assert spotify.call(RestCall("PUT", "/me/player/volume", query={"volume_percent": 20})).ok
    assert not spotify.call(RestCall("GET", "/search", query={"q": "x"})).was_sent
    assert spotify.call(RestCall("DELETE", "/playlists/abc/tracks", body={"tracks": [{"uri": "u"}]})).ok
    assert len(recorder.requests) == 3
