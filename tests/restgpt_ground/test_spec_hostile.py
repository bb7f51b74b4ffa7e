"""Damaged descriptions and wild calls: a UserError or an Exchange, never anything else, and nothing sent elsewhere."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spec import document, small_spec

from toolkit.errors import UserError
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.render import render_call, render_endpoints, render_schema
from toolkit.restgpt.spec import Spec, spec_from_document

JUNK: list[Any] = [
    None, 1, -1, 1.5, True, "", "x", "true", "$ref", [], [1], ["a"], {}, {"a": 1}, [[]], [{}], [None], {"": {}},
    {"$ref": "#/components/schemas/Item"}, {"$ref": 5}, {"$ref": "#"},
    {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
]  # fmt: skip


def count(text: str) -> int:
    return len(text) // 4


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(chance: random.Random) -> dict[str, Any]:
    broken = copy.deepcopy(document())
    for _ in range(chance.randrange(1, 4)):
        *way, last = chance.choice(list(places(broken)))
        node = broken
        for step in way:
            node = node[step]
        node[last] = copy.deepcopy(chance.choice(JUNK))
    return broken


def use(spec: Spec, chance: random.Random) -> None:
    """Everything that is done with a description."""
    assert render_endpoints(spec, 50, count, "q") is not None
    server = None if spec.servers else "http://a.test"
    credentials = dict.fromkeys(spec.schemes, "secret")
    client = RestClient(spec, server, credentials, transport=lambda request: httpx2.Response(200, json={}))
    values = [1, "a", "1,2", [1], {"a": 1}, None]
    for endpoint in spec.endpoints:
        render_call(spec, endpoint, 40, count, "q")
        json.loads(render_schema(spec, endpoint, 40, count, "q") or "null")
        path, query = (
            {each.name: chance.choice(values) for each in endpoint.of_place(place)} for place in ("path", "query")
        )
        body = chance.choice([None, {"name": "x"}, [1], "s"])
        client.call(RestCall(endpoint.method, endpoint.path, path, query, body))


@pytest.mark.parametrize("seed", range(8))
def test_damaged_descriptions(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        broken = damaged(chance)
        try:
            spec = spec_from_document(broken)
        except UserError as error:
            assert "\n" not in str(error)
        else:
            use(spec, chance)


WILD = st.text(max_size=30) | st.from_regex(
    r"(https?:)?//?[a-z.@:\\%]{0,20}/?(v1/)?items(/[{}<>%.a-z0-9]{0,6})?(\?.*)?"
)
DATA = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9), st.lists, max_leaves=4
)
SPEC = small_spec()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["GET", "get", "POST", "DELETE", "TRACE", " x"]),
    WILD,
    st.dictionaries(st.text(max_size=9), DATA),
    DATA,
)
def test_wild_calls_go_nowhere_else(method: str, path: str, values: dict[str, Any], body: Any) -> None:
    hosts: list[str] = []

    def service(request: httpx2.Request) -> httpx2.Response:
        hosts.append(f"{request.url.host}:{request.url.port} {request.url.path[:4]}")
        return httpx2.Response(200, json={})

    client = RestClient(SPEC, credentials={"token": "s3cret"}, transport=service)
    exchange = client.call(RestCall(method, path, values, {"q": "x", **values}, body))
    assert set(hosts) <= {"api.test:None /v1/"} and exchange.was_sent == bool(hosts)
    assert exchange.error != "protocol"
