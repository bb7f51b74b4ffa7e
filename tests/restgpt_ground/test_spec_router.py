from __future__ import annotations

import pytest
from small_spec import small_spec

from toolkit.restgpt.spec import spec_from_document

SPEC = small_spec()

MEANT = [
    ("GET", "/items", "GET /items"),
    ("get", "/items/", "GET /items"),
    (" Get ", "items", "GET /items"),
    ("GET", "/items?q=a/b", "GET /items"),
    ("GET", "/items/latest", "GET /items/latest"),
    ("GET", "/items/7", "GET /items/{item_id}"),
    ("GET", "/items/{item_id}", "GET /items/{item_id}"),
    ("GET", "/items/{id}", "GET /items/{item_id}"),
    ("GET", "/items/7,", "GET /items/{item_id}"),
    ("GET", "`/items/latest`.", "GET /items/latest"),
    ("**GET**", "**/items/7**", "GET /items/{item_id}"),
    ("GET", "http://api.test/v1/items/7", "GET /items/{item_id}"),
    ("GET", "HTTP://API.test/v1/items/7", "GET /items/{item_id}"),
    ("GET", "http://api.test:80/v1/items/7", "GET /items/{item_id}"),
    ("GET", "http://api.test:81/v1/items/7", None),
    ("GET", "/v1/items/7", "GET /items/{item_id}"),
    ("GET", "/files/a.b.csv", "GET /files/{name}.csv"),
    ("DELETE", "/items/7", "DELETE /items/{item_id}"),
    ("DELETE", "/items/latest", "DELETE /items/{item_id}"),
    ("GET", "https://evil.test/v1/items/7", None),
    ("GET", "//evil.test/items", None),
    ("GET", "http://api.test/items/7", None),
    ("GET", "https://api.test/v1/items/7", None),
    ("GET", "http://api.test/v11/items", None),
    ("PATCH", "/items/7", None),
    ("GET", "/items/7/8", None),
    ("GET", "/Items", None),
    ("GET", "/files/acsv", None),
    ("GET", "", None),
    ("GET", "http://[", None),
    ("GET", "/" + "a" * 10_000, None),
]


@pytest.mark.parametrize(("method", "path", "key"), MEANT)
def test_what_a_path_means(method: str, path: str, key: str | None) -> None:
    endpoint = SPEC.match(method, path)
    assert (endpoint.key if endpoint else None) == key


def test_values_are_decoded_and_placeholders_noticed() -> None:
    route = SPEC.route("GET", "/files/a%20b.csv")
    assert route and dict(route.values) == {"name": "a b"} and route.unfilled == ()
    stopped = SPEC.route("GET", "/items/7.")
    assert stopped and stopped.values == {"item_id": "7"}
    for placeholder in ("{item_id}", "{id}", "<id>", ":id", "[id]", "%7Bid%7D"):
        unfilled = SPEC.route("GET", f"/items/{placeholder}")
        assert unfilled and unfilled.unfilled == ("item_id",), placeholder


def test_a_dot_is_a_dot_and_literals_win_in_every_position() -> None:
    paths = {path: {"get": {"responses": {"200": {"description": ""}}}}
             for path in ("/{a}/b", "/a/{b}", "/a/b", "/v1.0/x", "/{a}/{b}")}  # fmt: skip
    spec = spec_from_document({"openapi": "3.0.0", "paths": paths})
    meant = {path: spec.match("GET", path) for path in ("/a/b", "/a/z", "/z/b", "/z/z", "/v1.0/x", "/v1a0/x")}
    assert {path: endpoint and endpoint.path for path, endpoint in meant.items()} == {
        "/a/b": "/a/b", "/a/z": "/a/{b}", "/z/b": "/{a}/b", "/z/z": "/{a}/{b}", "/v1.0/x": "/v1.0/x",
        "/v1a0/x": "/{a}/{b}",
    }  # fmt: skip
