"""The HTTP side: what the ASGI wrapper hands to an app and what comes back, without a socket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.restbench.data import spec_file
from experiments.restbench.movies.app import MoviesApp
from experiments.restbench.serve import MAX_BODY, asgi, in_process, make_app
from toolkit.errors import UserError
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.spec import load_spec


def call(app: MoviesApp, path: str, query: str = "", method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
    sent: list[Any] = []
    chunks = [
        {"type": "http.request", "body": body[:10], "more_body": True},
        {"type": "http.request", "body": body[10:]},
    ]

    async def receive() -> Any:
        return chunks.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in app.credentials.items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    asyncio.run(asgi(app)({**scope, "query_string": query.encode(), "headers": headers}, receive, send))
    return sent[0]["status"], sent[1]["body"]


def test_answers_as_in_process(app: MoviesApp) -> None:
    status, body = call(app, "/3/search/movie", "query=Mulholland%20Drive")
    direct = app.handle("GET", "/search/movie", {"query": "Mulholland Drive"}, app.credentials)
    assert (status, body) == (200, direct.body) and json.loads(body)["results"]


@pytest.mark.parametrize("path", ["/reset", "/state", "/log", "/docs", "/openapi.json", "/", "/3"])
def test_nothing_else_is_reachable(app: MoviesApp, path: str) -> None:
    assert call(app, path)[0] == 404


def test_bounds_and_verbs(app: MoviesApp) -> None:
    assert call(app, "/movie/popular", method="PUT")[0] == 405
    assert call(app, "/movie/popular", body=b"x" * (MAX_BODY + 1))[0] == 413
    assert call(app, "/movie/popular", method="HEAD")[1] == b""


def test_unknown_services_are_named() -> None:
    with pytest.raises(UserError, match="tmdb"):
        make_app("netflix", 1, False, "k")


def test_the_client_of_the_planner_talks_to_it(shared_data: Path, app: MoviesApp) -> None:
    spec = load_spec(spec_file(shared_data / "restbench", "tmdb"))
    with RestClient(spec, transport=in_process(app, app.credentials)) as client:
        found = client.call(RestCall("GET", "/search/tv", query={"query": "Twin Peaks"}))
        show = found.json["results"][0]
        season = client.call(RestCall("GET", f"/tv/{show['id']}/season/1/credits"))
        assert season.ok and season.endpoint == "GET /tv/{tv_id}/season/{season_number}/credits"
        assert client.call(RestCall("GET", "/tv/1")).error == "not_found"
    with RestClient(spec, transport=in_process(app)) as client:
        assert client.call(RestCall("GET", "/tv/popular")).error == "unauthorized"
