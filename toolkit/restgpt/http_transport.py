"""How one request travels: over sockets with a total deadline, or into a service in this very process.

The watchdog exists because a socket timeout is per read: a server that sends one byte every few seconds never trips it.
It closes the connection when the deadline has passed. No proxy, cookie jar, redirect or log line of the HTTP library
is in the way, so nothing is sent or written that was not asked for. Knows nothing of descriptions or secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

Handler = Callable[[httpx2.Request], httpx2.Response]


def socket_transport() -> httpx2.BaseTransport:
    """Plain sockets, one connection per request, nothing taken from the environment."""
    return httpx2.HTTPTransport(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))


class AsgiTransport(httpx2.BaseTransport):
    """Calls an ASGI application (FastAPI, Starlette) directly. An exception in it is a 500, as over the wire."""

    def __init__(self, app: Any) -> None:
        self._inner = httpx2.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Run the application on an event loop of its own until it has answered or the deadline has passed."""
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        seconds = request.extensions.get("timeout", {}).get("read")
        try:
            answer = await asyncio.wait_for(self._inner.handle_async_request(request), seconds)
        except TimeoutError:
            raise httpx2.ReadTimeout("the application did not answer in time", request=request) from None
        return httpx2.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


class Watchdog:
    """Closes the connection of one request when its deadline passes. Use `trace` as the request's trace extension."""

    def __init__(self, deadline: float) -> None:
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._close)
        self._timer.daemon = True
        self.fired = False

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the socket of a new connection (plain first, then its TLS wrapping)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")

    def _close(self) -> None:
        self.fired = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the block runs."""
        self._timer.start()
        try:
            yield
        finally:
            self._timer.cancel()
