"""MCP both ways: a server written here, our own toolbox served, and the reference server from npm when it is there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp_types import CallToolResult, ImageContent, TextContent

from toolkit.errors import UserError
from toolkit.tools.http import HttpSettings
from toolkit.tools.mcp import McpConnection, McpTool, api_name, as_object, outcome_of, over_http, over_stdio
from toolkit.tools.outcome import Outcome
from toolkit.tools.toolbox import Toolbox

SERVER = """
import os, time
from mcp.server.mcpserver import MCPServer
server = MCPServer("test")

@server.tool(name="join words")
def join(left: str, right: str, times: int = 1) -> str:
    return (left + right) * times

@server.tool()
def fail(reason: str) -> str:
    raise ValueError(reason)

@server.tool()
def slow() -> str:
    time.sleep(60)
    return "late"

@server.tool()
def die() -> str:
    os._exit(1)

@server.tool()
def visible(name: str) -> str:
    return os.environ.get(name, "unset")

server.run("stdio")
"""
SERVE_OURS = """
import datetime
from toolkit.tools.builtin import builtin
from toolkit.tools.mcp_server import serve_mcp
from toolkit.tools.toolbox import Toolbox
toolbox = Toolbox(builtin(datetime.date(2023, 2, 20)), patterns={"SEARCH": "[a-z ]+"})
serve_mcp(toolbox, {"MATH": "Evaluates an expression."})
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "server.py"
    path.write_text(SERVER)
    return path


@pytest.fixture(scope="module")
def server(script: Path) -> Iterator[McpConnection]:
    connection = over_stdio([sys.executable, str(script)], env={"GIVEN": "yes"}, seconds=20.0)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def tools(server: McpConnection) -> dict[str, McpTool]:
    return server.tools()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "status", "text"),
    [
        ("join_words", '{"left": "a", "right": "b"}', "ok", "ab"),
        ("join_words", '"a", "b", 3', "ok", "ababab"),
        ("join_words", "a, b", "refused", ""),
        ("join_words", '{"left": "a"}', "error", ""),
        ("join_words", "", "error", ""),
        ("fail", "two words", "error", ""),
        ("visible", "GIVEN", "ok", "yes"),
        ("visible", "HIDDEN_SECRET", "ok", "unset"),
        ("nothing", "", "unknown", ""),
    ],
)
def test_calls_over_stdio(tools: dict[str, McpTool], name: str, arguments: str, status: str, text: str) -> None:
    outcome = Toolbox(tools).run(name, arguments)
    assert outcome.status == status, outcome.text
    assert not text or outcome.text == text


@pytest.mark.slow
def test_calls_from_many_threads(tools: dict[str, McpTool]) -> None:
    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda number: tools["join_words"].run(f'"{number}", "!"'), range(50)))
    assert [outcome.text for outcome in outcomes] == [f"{number}!" for number in range(50)]


@pytest.mark.slow
def test_a_slow_and_a_dying_server_cost_their_call(script: Path) -> None:
    connection = over_stdio([sys.executable, str(script)], seconds=6.0)
    found = connection.tools()
    assert found["slow"].run("").status == "timeout"
    assert found["die"].run("").status in {"error", "timeout"}
    assert found["slow"].run("").status in {"error", "timeout"}
    connection.close()


@pytest.mark.parametrize("command", [["no-such-command-here"], [sys.executable, "-c", "print('no protocol')"]])
def test_no_server_is_the_users_mistake(command: list[str]) -> None:
    with pytest.raises(UserError, match="MCP server"):
        over_stdio(command, seconds=1.0)


def test_private_addresses_are_refused_over_http() -> None:
    with pytest.raises(UserError, match="not a public address"):
        over_http("http://127.0.0.1:9/mcp", HttpSettings(seconds=2.0))


@pytest.mark.slow
def test_our_toolbox_as_a_server() -> None:
    connection = over_stdio([sys.executable, "-c", SERVE_OURS], seconds=20.0)
    found = connection.tools()
    assert list(found) == ["MATH", "DATE", "SEARCH"]
    assert found["MATH"].description.description == "Evaluates an expression."
    assert found["MATH"].run("123 ^ 456") == Outcome("ok", "435")
    assert found["DATE"].run("") == Outcome("ok", "Feb 20th, 2023")
    assert "division by zero" in found["MATH"].run("1/0").text
    assert "refused" in found["SEARCH"].run("!").text
    connection.close()


@pytest.mark.slow
def test_streamable_http() -> None:
    uvicorn = pytest.importorskip("uvicorn")
    from toolkit.tools.builtin import builtin
    from toolkit.tools.mcp_server import mcp_server

    app = mcp_server(Toolbox(builtin()), {}).streamable_http_app()
    web = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=web.run, daemon=True)
    thread.start()
    while not web.started:
        thread.join(0.05)
    port = web.servers[0].sockets[0].getsockname()[1]
    settings = HttpSettings(seconds=20.0, private_hosts=frozenset({"127.0.0.1"}))
    connection = over_http(f"http://127.0.0.1:{port}/mcp", settings)
    assert connection.tools()["MATH"].run("(1 + 2) * 3") == Outcome("ok", "9")
    connection.close()
    web.should_exit = True
    thread.join(10)


def everything() -> list[str]:
    """The command of the reference server: an installed one, or an npm prefix named in the environment."""
    prefix = os.environ.get("NPM_PREFIX")
    found = shutil.which("mcp-server-everything", path=f"{prefix}/node_modules/.bin" if prefix else None)
    if found is None:
        pytest.skip("npm package @modelcontextprotocol/server-everything is not installed (NPM_PREFIX can name where)")
    return [found]


@pytest.mark.slow
def test_the_reference_server_over_stdio() -> None:
    connection = over_stdio([*everything(), "stdio"], seconds=30.0)
    found = connection.tools()
    assert found["echo"].run("hello there").text == "Echo: hello there"
    assert "5" in found["get-sum"].run("2, 3").text
    assert found["get-sum"].run('{"a": "x", "b": 1}').status == "error"
    connection.close()


@pytest.mark.slow
def test_the_reference_server_over_http() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*everything(), "streamableHttp"]
    with subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        while "listening" not in child.stderr.readline():
            assert child.poll() is None
        settings = HttpSettings(seconds=30.0, private_hosts=frozenset({"127.0.0.1"}))
        connection = over_http(f"http://127.0.0.1:{port}/mcp", settings)
        assert connection.tools()["echo"].run("hello there").text == "Echo: hello there"
        connection.close()
        child.terminate()


@pytest.mark.parametrize(
    ("arguments", "schema", "values"),
    [
        ("", {}, {}),
        ("{}", {}, {}),
        ("x", {}, None),
        ("x", {"properties": {"a": {"type": "string"}}}, {"a": "x"}),
        ("5", {"properties": {"a": {"type": "string"}}}, {"a": "5"}),
        ("5", {"properties": {"a": {"type": "integer"}}}, {"a": 5}),
        ("five", {"properties": {"a": {"type": "integer"}}}, {"a": "five"}),
        ("x y", {"properties": {"a": {}, "b": {}}, "required": ["a"]}, {"a": "x y"}),
        ("2, 3", {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}, {"a": 2, "b": 3}),
        ("2, 3, 4", {"properties": {"a": {}, "b": {}}}, None),
        ('{"b": 1}', {"properties": {"a": {}}}, {"b": 1}),
        ("[" * 5000, {"properties": {"a": {}, "b": {}}}, None),
        ("x", {"properties": "hostile"}, None),
        ("x", {"properties": {"a": "hostile"}}, {"a": "x"}),
    ],
)
def test_a_string_as_an_object(arguments: str, schema: dict[str, Any], values: dict[str, Any] | None) -> None:
    assert as_object(arguments, schema) == values


def test_results() -> None:
    text, image = TextContent(text="a"), ImageContent(data="", mime_type="image/png")
    assert outcome_of(CallToolResult(content=[text, image, text])) == Outcome("ok", "a\na")
    assert outcome_of(CallToolResult(content=[image])).status == "error"
    assert outcome_of(CallToolResult(content=[], structured_content={"a": 1})) == Outcome("ok", '{"a": 1}')
    assert outcome_of(CallToolResult(content=[text], is_error=True)) == Outcome("error", "a")


@pytest.mark.parametrize(("name", "safe"), [("get-sum", "get-sum"), ("a b/c", "a_b_c"), ("1st", "_1st"), ("", "_")])
def test_names(name: str, safe: str) -> None:
    assert api_name(name) == safe
    assert len(api_name(name + "x" * 99)) <= 64
