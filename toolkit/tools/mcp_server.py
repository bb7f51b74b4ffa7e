"""A toolbox as an MCP server, so that any MCP client can use a plugin's APIs (extra `mcp`).

Each API is a tool with one text property, `arguments`. The toolbox checks names and patterns as it does for a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from toolkit.tools.toolbox import Toolbox


def mcp_server(toolbox: Toolbox, descriptions: Mapping[str, str], name: str = "toolkit") -> MCPServer:
    """The server; `descriptions` says for each API what it is for. Run it with its own `run`, or mount its ASGI app."""
    server = MCPServer(name)
    for api in toolbox.names:
        server.add_tool(_caller(toolbox, api), name=api, description=descriptions.get(api), structured_output=False)
    return server


def serve_mcp(toolbox: Toolbox, descriptions: Mapping[str, str], name: str = "toolkit") -> None:
    """Serve on standard input and output until the client hangs up."""
    mcp_server(toolbox, descriptions, name).run("stdio")


def describe(plugin: str, examples: Sequence[tuple[str, str]]) -> str:
    """What a client is told of an API: what its plugin is for, and an example if there is one."""
    return "\n".join([plugin, *(f"Example: {question} {answer}" for question, answer in examples[:1])])


def _caller(toolbox: Toolbox, api: str) -> Callable[[str], str]:
    def call(arguments: str = "") -> str:
        outcome = toolbox.run(api, arguments)
        if not outcome.ok:
            raise ToolError(f"{outcome.status}: {outcome.text}")
        return outcome.text

    return call
