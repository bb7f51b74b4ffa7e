"""MCP both ways: a server's tools as a plugin with drafted examples, and a plugin served to MCP clients."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from stream_server import Reply, model_server, streamed

from experiments.cli import outcome
from toolkit import Assistant
from toolkit.errors import UserError
from toolkit.plugins.from_mcp import MADE_UP, connect, mcp_plugin, sample_arguments
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.mcp import as_object
from toolkit.tools.outcome import Outcome

SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("test")

@server.tool()
def add(a: int, b: int) -> str:
    "Adds two numbers. [Really]"
    return str(a + b)

@server.tool(name="say it")
def say(text: str, times: int = 1) -> str:
    return text * times

@server.tool()
def now() -> str:
    return "noon"

server.run("stdio")
"""
OURS = f"{sys.executable} -c 'from experiments.cli import main; main()' plugin mcp-serve science"


@pytest.fixture
def command(tmp_path: Path) -> str:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return f"'{sys.executable}' '{path}'"


def schema(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"properties": properties, **({} if required is None else {"required": required})}


@pytest.mark.parametrize(
    ("described", "arguments", "values"),
    [
        ({}, "", {}),
        (schema(a={"type": "string"}), "hello", {"a": "hello"}),
        (schema(["a", "b"], a={"type": "integer"}, b={"type": "number"}), "2, 3", {"a": 2, "b": 3}),
        (schema(["a"], a={"type": "string"}, b={"type": "string"}), "hello", {"a": "hello"}),
        (schema(["b"], a={"type": "boolean"}, b={"enum": ["x", "y"]}), 'true, "x"', {"a": True, "b": "x"}),
        (schema(a={"type": "integer", "minimum": 10}), "10", {"a": 10}),
        (schema(a={"default": "it's (x)]"}), "it s  x", {"a": "it s  x"}),
        (schema(a={"type": "array"}, b={}), "[]", None),
        (
            schema(["a", "b"], a="hostile", b={"examples": [{"k": 1}]}),
            '"hello", {"k": 1}',
            {"a": "hello", "b": {"k": 1}},
        ),
        ({"properties": "hostile", "required": 5}, "", {}),
    ],
)
def test_sample_arguments_are_read_back(described: dict[str, Any], arguments: str, values: Any) -> None:
    assert sample_arguments(described) == arguments
    if values is not None:
        assert as_object(arguments, described) == values


@pytest.mark.slow
def test_a_servers_tools_become_a_plugin_that_a_model_calls(command: str) -> None:
    connection = connect(command, seconds=30.0)
    plugin = mcp_plugin(connection, "test server")
    assert plugin.manifest.apis["add"].examples == (
        ("Adds two numbers. (Really): 2, 3.", f"It is [add(2, 3) -> {MADE_UP}] {MADE_UP}."),
    )
    assert plugin.manifest.apis["say_it"].arguments and not plugin.manifest.apis["now"].arguments
    assert load_toolbox([plugin]).run("now", "").text == "noon"

    def answer(body: dict[str, Any]) -> Reply:
        return streamed(" 42.\n" if body["prompt"].endswith("42]") else " It is [add(40, 2)")

    with model_server(answer) as seen:
        got = Assistant(f"completions:{seen.url}#m", [plugin]).ask("Add 40 and 2.")
    connection.close()
    assert got.text == " It is [add(40, 2) -> 42] 42."


@pytest.mark.slow
def test_chat_uses_a_server_by_its_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with model_server(lambda body: streamed(" 7.\n" if "-> 7]" in body["prompt"] else " [add(3, 4)")) as seen:
        assert outcome(["chat", "--model", f"completions:{seen.url}#m", "--mcp", command, "--ask", "3 + 4?"]) == 0
    assert capsys.readouterr().out == "[add(3, 4) -> 7] 7.\n"


@pytest.mark.slow
def test_a_plugin_is_served_to_mcp_clients() -> None:
    connection = connect(OURS, seconds=60.0)
    tools = connection.tools()
    assert list(tools) == ["SEARCH", "DATE", "MATH"]
    assert tools["MATH"].run("6 * 7") == Outcome("ok", "42")
    assert "Example: What is 123 + 456? 123 + 456 is [MATH(123 + 456) -> 579] 579." in (
        tools["MATH"].description.description or ""
    )
    assert "refused" in tools["DATE"].run('{"arguments": "now"}').text
    connection.close()


def test_what_cannot_be_connected_is_said() -> None:
    with pytest.raises(UserError, match="no command"):
        connect(" ")
    with pytest.raises(UserError, match="not a public address"):
        connect("http://127.0.0.1:9/mcp", seconds=2.0)


@pytest.mark.slow
def test_the_reference_server() -> None:
    prefix = os.environ.get("NPM_PREFIX")
    found = shutil.which("mcp-server-everything", path=f"{prefix}/node_modules/.bin" if prefix else None)
    if found is None:
        pytest.skip("npm package @modelcontextprotocol/server-everything is not installed (NPM_PREFIX can name where)")
    connection = connect(f"{found} stdio", seconds=60.0)
    plugin = mcp_plugin(connection)
    box = load_toolbox([plugin])
    assert box.run("echo", "hello").text == "Echo: hello"
    for name, api in plugin.manifest.apis.items():
        assert (
            api.examples[0][1] == f"It is [{name}({sample_arguments(_schema(plugin, name))}) -> {MADE_UP}] {MADE_UP}."
        )
    connection.close()


def _schema(plugin: Any, name: str) -> dict[str, Any]:
    described: dict[str, Any] = plugin.tools[name].description.input_schema
    return described
