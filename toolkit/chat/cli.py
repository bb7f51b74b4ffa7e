"""`toolkit chat`: talk to a model that uses plugins. Reads options, opens what they name, and hands over."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from toolkit.errors import RunError, UserError

BUNDLED = "bundled:smollm2-135m-instruct"
MODEL_HELP = "bundled:NAME, folder, hub id, openai:URL#MODEL or completions:URL#MODEL"


def chat(
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = BUNDLED,
    plugin: Annotated[list[str] | None, typer.Option(help="manifest, folder, science or installed; repeatable")] = None,
    mcp: Annotated[list[str] | None, typer.Option(help="MCP server: its command line or URL; repeatable")] = None,
    ask: Annotated[str | None, typer.Option(help="answer this one question and leave")] = None,
    syntax: Annotated[str | None, typer.Option(help="how calls are written; default: as the model's template")] = None,
    tokens: Annotated[int, typer.Option(min=1, help="most tokens of one answer")] = 200,
    calls: Annotated[int, typer.Option(min=0, help="most calls of one answer")] = 8,
    temperature: Annotated[float | None, typer.Option(min=0.01, help="draw tokens; default: the likeliest")] = None,
    seed: Annotated[int, typer.Option(help="seed of the draws")] = 0,
    shots: Annotated[
        int | None, typer.Option(min=0, help="examples of each plugin in the prompt; default: all")
    ] = None,
    constrain: Annotated[
        bool, typer.Option("--constrain", help="a begun call can only become one that exists")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="host that plugins may reach at a private or loopback address")
    ] = None,
    key_env: Annotated[str | None, typer.Option(help="environment variable with the model server's key")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object per answer, for a program")] = False,
) -> None:
    """Talk to a model that uses plugins. Reads questions from the terminal, or one per line from a pipe."""
    from toolkit.assistant import Assistant, load_plugins
    from toolkit.chat.answer import Settings
    from toolkit.chat.terminal import at_terminal, piped
    from toolkit.plugins.tokens import syntax_of

    written = syntax_of(syntax) if syntax else None
    settings = Settings(written, tokens, calls, 300.0, temperature, seed, shots, constrain)
    plugins = load_plugins(*(plugin or ([] if mcp else ["science"])))
    connections = []
    try:
        for target in mcp or ():
            connection, opened = _mcp(target, allow_host)
            connections.append(connection)
            plugins.append(opened)
        assistant = Assistant(model, plugins, settings, allow_host or (), key_env)
        if ask is None and sys.stdin.isatty() and not as_json:
            at_terminal(assistant, assistant.writer.syntax)
        elif not piped(assistant, iter([ask]) if ask is not None else sys.stdin, as_json):
            raise RunError("not every question was answered")
    finally:
        for connection in connections:
            connection.close()


def _mcp(target: str, allow_host: list[str] | None) -> tuple[Any, Any]:
    """The session with an MCP server, and its tools as a plugin."""
    try:
        from toolkit.plugins.from_mcp import connect, mcp_plugin
    except ModuleNotFoundError as error:
        raise UserError(f"MCP needs {error.name}", "--mcp", "pip install 'heldout-toolkit[mcp]'") from error
    connection = connect(target, allow_host or ())
    return connection, mcp_plugin(connection, target)
