"""A small HTTP server for tests that answers with the very bytes a test gives, however wrong they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from toolkit.tools.background import background

Answer = Callable[["Request"], Awaitable[bytes | None]]


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int  # how many requests came to this path before


def response(body: bytes, status: str = "200 OK", kind: str = "application/json", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", f"Content-Type: {kind}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def result(text: str) -> bytes:
    return response(json.dumps({"result": text}).encode())


@dataclass
class LocalServer:
    """`answers` maps a path to a coroutine function that gives the whole response, or None to hang up."""

    answers: dict[str, Answer]
    seen: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def __enter__(self) -> LocalServer:
        self.loop = background()
        self.server = self.loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2048))
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.loop.call_soon_threadsafe(self.server.close)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        path = head[0].split()[1]
        request = Request(path, headers, body, sum(one.path == path for one in self.seen))
        self.seen.append(request)
        answer = await self.answers[path](request)
        if answer is not None:
            writer.write(answer)
            await writer.drain()
        return answer is not None
