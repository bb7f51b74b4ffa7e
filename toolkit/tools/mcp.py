"""Tools of any MCP server as tools of ours, over stdio or streamable HTTP (extra `mcp`).

An MCP tool takes an object, an API of ours one string. The string is read as a JSON object when it is one; else as the
value of the tool's only property, or as JSON values in the order of its properties: `[get-sum(2, 3)]`. What an MCP
server says is as little trusted as any endpoint: names are made safe, answers capped, calls have a deadline, and over
HTTP only public addresses are reached. This file knows nothing of prompts and manifests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp import Tool as ToolDescription
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from toolkit.errors import UserError
from toolkit.tools.background import background
from toolkit.tools.http import HttpSettings, checked_url, secret_header
from toolkit.tools.network import GuardedTransport
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import reason

MAX_TOOLS = 1000  # of one server
MAX_RESULT = 65_536  # characters of one result
JSON_TYPES = frozenset({"number", "integer", "boolean", "null", "array", "object"})


class McpConnection:
    """A session with one MCP server, open until `close`. Build it with `over_stdio` or `over_http`."""

    def __init__(self, transport: AbstractAsyncContextManager[Any], where: str, seconds: float = 10.0) -> None:
        self._loop, self._where, self._seconds = background(), where, seconds
        self._stop = asyncio.Event()
        ready: Future[Client] = Future()
        self._owner = asyncio.run_coroutine_threadsafe(self._hold(transport, ready), self._loop.loop)
        try:
            self._client = ready.result(timeout=3 * seconds)
        except TimeoutError:
            self._owner.cancel()
            raise UserError("the MCP server does not answer", where, "check its command or URL") from None
        except Exception as error:
            raise UserError(f"no MCP server: {_innermost(error)}", where, "check its command or URL") from None

    def tools(self) -> dict[str, McpTool]:
        """The server's tools by API name; UserError when two have the same name or there are too many."""
        tools: dict[str, McpTool] = {}
        for description in self._loop.run(self._descriptions(), self._seconds):
            name = api_name(description.name)
            if name in tools:
                raise UserError(f"two tools have the name {name}", self._where, "rename one of them on the server")
            tools[name] = McpTool(name, self, description)
        return tools

    def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Call a tool by its own name. Every failure is an Outcome."""
        try:
            return outcome_of(self._loop.run(self._client.call_tool(name, arguments), self._seconds))
        except TimeoutError:
            return Outcome("timeout", f"no answer within {self._seconds:g} s")
        except (MCPError, OSError, RuntimeError, ValueError, httpx2.HTTPError) as error:
            return Outcome("error", reason(f"{type(error).__name__}: {error}"))

    def close(self) -> None:
        """End the session, and the server's process if we started it."""
        self._loop.loop.call_soon_threadsafe(self._stop.set)
        self._owner.result(timeout=3 * self._seconds)

    async def _hold(self, transport: AbstractAsyncContextManager[Any], ready: Future[Client]) -> None:
        """Enter and leave the session in one task, as its cancel scopes demand."""
        try:
            async with Client(transport, read_timeout_seconds=self._seconds) as client:
                ready.set_result(client)
                await self._stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)

    async def _descriptions(self) -> list[ToolDescription]:
        found: list[ToolDescription] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if len(found) > MAX_TOOLS:
                raise UserError(f"more than {MAX_TOOLS} tools", self._where, "serve fewer")
            if cursor is None:
                return found


@dataclass(frozen=True)
class McpTool:
    """One tool of an MCP server."""

    name: str
    connection: McpConnection = field(repr=False)
    description: ToolDescription = field(repr=False)
    inline: bool = False

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """Call the tool and wait for the outcome. The history is not sent: MCP has no place for it."""
        values = as_object(arguments, self.description.input_schema)
        if values is None:
            return Outcome("refused", "the argument fits none of the tool's properties")
        return self.connection.call(self.description.name, values)


def api_name(name: str) -> str:
    """An MCP tool's name as an API name: other characters become `_`, 64 characters at most."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return (safe if re.match(r"[A-Za-z_]", safe) else f"_{safe}")[:64]


def as_object(arguments: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The argument string as the object that `schema` asks for; None when it cannot be read as one."""
    text = arguments.strip()
    whole = _json(text)
    if isinstance(whole, dict) or not text:
        return whole if isinstance(whole, dict) else {}
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return None
    names = list(properties)
    if len(names) == 1 or schema.get("required") == names[:1]:
        types = properties[names[0]].get("type") if isinstance(properties[names[0]], dict) else None
        return {names[0]: whole if types in JSON_TYPES and whole is not None else text}
    values = _json(f"[{text}]")
    return dict(zip(names, values, strict=False)) if isinstance(values, list) and len(values) <= len(names) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def outcome_of(result: CallToolResult) -> Outcome:
    """The outcome that a tool's result stands for: its texts, one after the other, or its structured content."""
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    text = "\n".join(texts)[:MAX_RESULT]
    if result.is_error:
        return Outcome("error", reason(text or "the tool failed"))
    if not texts and result.structured_content is not None:
        return Outcome("ok", json.dumps(result.structured_content, ensure_ascii=False)[:MAX_RESULT])
    return Outcome("ok", text) if texts else Outcome("error", "the result holds no text")


def over_stdio(command: Sequence[str], env: Mapping[str, str] | None = None, seconds: float = 10.0) -> McpConnection:
    """Start an MCP server as a child process and connect to it; UserError when there is none.

    The child gets `env` on top of a minimal environment; what it writes to its standard error is dropped.
    """
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(env or {}))
    return McpConnection(_quiet_child(parameters), " ".join(command), seconds)


def over_http(url: str, settings: HttpSettings | None = None) -> McpConnection:
    """Connect to an MCP server over streamable HTTP, by the same rules for hosts and secrets as any endpoint."""
    settings = settings or HttpSettings()
    headers = secret_header(checked_url(url, url), settings, url)
    return McpConnection(_guarded_http(url, headers, settings), url, settings.seconds)


@contextlib.asynccontextmanager
async def _quiet_child(parameters: StdioServerParameters) -> AsyncIterator[Any]:
    with Path(os.devnull).open("w") as nothing:
        async with stdio_client(parameters, errlog=nothing) as streams:
            yield streams


@contextlib.asynccontextmanager
async def _guarded_http(url: str, headers: dict[str, str], settings: HttpSettings) -> AsyncIterator[Any]:
    transport = GuardedTransport(settings.private_hosts, settings.concurrency)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=settings.seconds, trust_env=False) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def _innermost(error: BaseException) -> BaseException:
    """The first error inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
