"""What a simulated service is to everything around it: a name and one function that answers a request. `Episode`
stands between an agent and a service and keeps the HTTP log. World state, reset and inspection belong to the app
object and are never reachable through `handle`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from toolkit.restgpt.exchange import Exchange
from toolkit.restgpt.spec_router import Router

JSON_HEADERS = {"content-type": "application/json;charset=utf-8"}


@dataclass(frozen=True)
class Response:
    """An HTTP answer. `body` is what goes over the wire, empty for 204."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_HEADERS)

    @property
    def json(self) -> Any:
        """The parsed body, None without one."""
        return json.loads(self.body) if self.body else None


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; equal content gives equal bytes."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(status, body, {**JSON_HEADERS, **(headers or {})})


class App(Protocol):
    """A simulated service. `base` is the public base URL, `endpoints` the `METHOD /path/{template}` lines."""

    @property
    def name(self) -> str:
        """`tmdb` or `spotify`."""

    @property
    def base(self) -> str:
        """The service's public base URL, without a trailing slash."""

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All endpoints it serves."""

    def handle(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """Answer one request.

        `url` is a path or a full URL, with or without the base path and with or without a query string; `query` is
        added to it. Header names are matched without regard to case. Never raises, whatever is sent.
        """


class Episode:
    """Sends an agent's requests to an app and logs each as an Exchange; `headers` carry the credentials."""

    def __init__(self, app: App, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers
        entries = [(line.split(" ")[0], line.split(" ", 1)[1], line) for line in app.endpoints]
        self._router = Router(entries, [app.base])
        self.log: list[Exchange] = []

    def request(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Exchange:
        """Send one request; the answer is returned and logged. `body` is JSON data."""
        asked = {name: str(value) for name, value in (query or {}).items()}
        sent = b"" if body is None else json.dumps(body).encode()
        reply = self._app.handle(method, path, asked, self._headers, sent)
        route = self._router.route(method, urlsplit(path).path)
        entry = Exchange(
            method=method.upper(),
            endpoint=route.target if route else None,
            url=f"{path}?{urlencode(asked)}" if asked else path,
            sent=body,
            status=reply.status,
            json=reply.json,
            text=reply.body.decode(),
            attempts=1,
        )
        self.log.append(entry)
        return entry

    def get(self, path: str, **query: Any) -> Any:
        """The JSON body of a GET, logged as every request."""
        return self.request("GET", path, query).json
