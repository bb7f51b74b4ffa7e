"""Serves a simulated service over real HTTP, for agents that live outside this process: an ASGI wrapper around any
app, and the `toolkit rest serve` command. Only what `handle` answers is reachable: no reset, no state, no log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import httpx2
import typer

from experiments.restbench.service import App
from toolkit.errors import UserError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]
MAX_BODY = 1 << 20


def tmdb(seed: int, counterfactual: bool, key: str, throttle: int | None) -> App:
    """The film service over the world of a seed."""
    from experiments.restbench.movies.app import MoviesApp
    from experiments.restbench.movies.build import build

    return MoviesApp(build(seed, counterfactual), key, throttle)


def spotify(seed: int, counterfactual: bool, key: str, throttle: int | None) -> App:
    """The music service over the account of a seed; it keeps what is written to it until it is stopped."""
    from experiments.restbench.music.app import MusicApp
    from experiments.restbench.music.build import build

    return MusicApp(build(seed, counterfactual), key, throttle)


SERVICES: dict[str, Callable[[int, bool, str, int | None], App]] = {"tmdb": tmdb, "spotify": spotify}


def make_app(name: str, seed: int, counterfactual: bool, key: str, throttle: int | None = None) -> App:
    """A simulated service by name; UserError for an unknown name."""
    if name not in SERVICES:
        raise UserError(f"no simulated service {name!r}", "rest serve", f"use one of {', '.join(sorted(SERVICES))}")
    return SERVICES[name](seed, counterfactual, key, throttle)


def asgi(app: App) -> Asgi:
    """The app as an ASGI application. Requests are answered one at a time, in the order of their arrival."""
    lock = asyncio.Lock()

    async def application(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        body = await _body(receive)
        if body is None:
            await _reply(send, 413, {}, b"")
            return
        raw = scope.get("raw_path") or str(scope["path"]).encode()
        query = scope.get("query_string", b"").decode("latin-1")
        url = raw.split(b"?")[0].decode("latin-1") + (f"?{query}" if query else "")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        async with lock:
            answer = app.handle(scope["method"], url, {}, headers, body)
        await _reply(send, answer.status, answer.headers, b"" if scope["method"] == "HEAD" else answer.body)

    return application


def in_process(app: App, headers: Mapping[str, str] | None = None) -> Callable[[httpx2.Request], httpx2.Response]:
    """The app as a transport of `toolkit.restgpt.http.RestClient`: no socket, no event loop.

    `headers` (the app's credentials) are added to each request, for agents that are given no secret.
    """

    def send(request: httpx2.Request) -> httpx2.Response:
        sent = {**dict(request.headers), **(headers or {})}
        answer = app.handle(request.method, str(request.url), {}, sent, request.read())
        return httpx2.Response(answer.status, headers=dict(answer.headers), content=answer.body)

    return send


async def _body(receive: Receive) -> bytes | None:
    """The whole request body, None when it is larger than MAX_BODY or the client went away."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


async def _reply(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    if body:
        encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def serve(
    service: Annotated[str, typer.Argument(help="Which simulated service: tmdb or spotify.")],
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8765,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    seed: Annotated[int, typer.Option(help="Which world.")] = 1,
    counterfactual: Annotated[bool, typer.Option(help="The same names with every fact drawn anew.")] = False,
    key: Annotated[str, typer.Option(help="The API key or bearer token that lets a request in.")] = "restbench",
    throttle: Annotated[int | None, typer.Option(help="Answer 429 to every so many requests.")] = None,
) -> None:
    """Serve a simulated service over HTTP until stopped."""
    try:
        import uvicorn
    except ImportError:
        raise UserError("serving needs uvicorn", "rest serve", "install the extra: pip install '.[serve]'") from None
    app = make_app(service, seed, counterfactual, key, throttle)
    typer.echo(f"{service} (seed {seed}) at http://{host}:{port}; send the header 'Authorization: Bearer {key}'")
    uvicorn.run(asgi(app), host=host, port=port, log_level="warning")
