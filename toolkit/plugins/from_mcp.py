"""An MCP server's tools as a plugin, with a drafted example for each, so that a model knows how to call them.

The results of drafted examples are made up: no tool is called before a model asks for it, for it might change something
or tell what should not be in a prompt. Needs the extra `mcp`; knows nothing of models.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from toolkit.calls.syntax import ARROW
from toolkit.errors import UserError
from toolkit.plugins.manifest import validate
from toolkit.plugins.plugin import PLACEHOLDER, LocalPlugin
from toolkit.tools.http import HttpSettings
from toolkit.tools.mcp import McpConnection, McpTool, over_http, over_stdio
from toolkit.tools.safety import safe_result

MADE_UP = "result 17"  # nothing that a model could know by itself, so that it learns to copy
WORDS = ("hello", "world", "again")
MAX_APIS = 256


def connect(target: str, allow_hosts: Iterable[str] = (), seconds: float = 10.0) -> McpConnection:
    """A session with the server that `target` names: an http(s) URL, or a command line to start. UserError if none."""
    if target.startswith(("http://", "https://")):
        return over_http(target, HttpSettings(seconds=seconds, private_hosts=frozenset(allow_hosts)))
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise UserError(f"not a command line: {error}", f"--mcp {target!r}", "close the quotes") from None
    if not command:
        raise UserError("no command and no URL", "--mcp", "give the command that starts the server, or its URL")
    return over_stdio(command, seconds=seconds)


def mcp_plugin(connection: McpConnection, name: str = "MCP") -> LocalPlugin:
    """The tools of a server as a plugin. UserError when it has none, or more than 256."""
    tools = connection.tools()
    if not 0 < len(tools) <= MAX_APIS:
        raise UserError(f"the MCP server has {len(tools)} tools", name, f"use one with 1 to {MAX_APIS}")
    apis = {api: _api(tool) for api, tool in tools.items()}
    value = {"plugin_api_version": 0, "name": name[:100], "description": "Tools of an MCP server.", "apis": apis}
    return LocalPlugin(validate(value, f"MCP server {name}"), tools)


def _api(tool: McpTool) -> dict[str, Any]:
    described = tool.description
    arguments = sample_arguments(described.input_schema)
    asked = " ".join((described.description or described.title or f"Use {tool.name}").split())[:200].rstrip(" .?!:;")
    question = safe_result(f"{asked}: {arguments}." if arguments else f"{asked}.", ARROW)
    answer = f"It is [{tool.name}({arguments}) -> {MADE_UP}] {MADE_UP}."
    takes = bool(_properties(described.input_schema))
    url = f"{PLACEHOLDER}/api/{tool.name}"
    return {"url": url, "arguments": takes, "examples": [[question, answer]]}


def sample_arguments(schema: Mapping[str, Any]) -> str:
    """An argument string that `toolkit.tools.mcp.as_object` reads: one bare value, or JSON values in order."""
    properties = _properties(schema)
    required = schema.get("required")
    needed = [name for name in properties if isinstance(required, list) and name in required]
    last = max((list(properties).index(name) for name in needed), default=0)
    names = list(properties)[: last + 1]
    values = [_sample(properties[name], index) for index, name in enumerate(names)]
    if len(values) == 1 and (len(properties) == 1 or required == names):
        (value,) = values
        return value if isinstance(value, str) else json.dumps(value)
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _sample(schema: Any, index: int) -> Any:
    """A value of one property."""
    schema = schema if isinstance(schema, dict) else {}
    for key in ("default", "const"):
        if key in schema:
            return _plain(schema[key])
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _plain(schema[key][0])
    match schema.get("type"):
        case "integer" | "number":
            return max(index + 2, schema["minimum"]) if isinstance(schema.get("minimum"), int) else index + 2
        case "boolean":
            return True
        case "array":
            return []
        case "object":
            return {}
    return WORDS[index % len(WORDS)]


def _plain(value: Any) -> Any:
    """The value, its text without marks that could end a call early."""
    return (
        "".join(" " if char in "()[]'\"\\\r\n" else char for char in value).strip() if isinstance(value, str) else value
    )
