"""`toolkit plugin`: write, check, compile, call, serve and import plugins.

Prints and reads options only; what is done lives in the modules beside it, imported on use. UserError and RunError
are left to the caller, which prints one line and exits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from toolkit.errors import RunError, UserError

app = typer.Typer(
    help="Write, lint, fix, compile, call, serve and import plugins.", no_args_is_help=True, add_completion=False
)

PluginArgument = Annotated[str, typer.Argument(help="manifest file, folder, built-in (science) or installed plugin")]
Json = Annotated[bool, typer.Option("--json", help="print JSON for a program")]
Model = Annotated[str | None, typer.Option(help="whose tokens to count: folder, hub id or bundled:NAME")]
AllowHost = Annotated[list[str] | None, typer.Option(help="host that may have a private or loopback address")]
SecretEnv = Annotated[str | None, typer.Option(help="environment variable that holds the plugin's bearer token")]


@app.command()
def new(
    path: Annotated[Path, typer.Argument(help="file to write")] = Path("manifest.json"),
    name: Annotated[str, typer.Option(help="the plugin's name")] = "My plugin",
) -> None:
    """Write a first manifest to start from."""
    from toolkit.plugins.writing import scaffold

    _write(path, scaffold(name))
    typer.echo(f"wrote {path}; edit it, then: toolkit plugin lint {path}")


@app.command()
def lint(
    path: Annotated[Path, typer.Argument(help="manifest file or folder")],
    live: Annotated[bool, typer.Option("--live", help="call each example at its address and compare")] = False,
    budget: Annotated[int | None, typer.Option(min=1, help="warn of examples with more tokens")] = None,
    model: Model = None,
    allow_host: AllowHost = None,
    secret_env: SecretEnv = None,
    as_json: Json = False,
) -> None:
    """Show every fault of a manifest at once, with line and column. Exit 2 on errors, 0 on mere warnings."""
    from toolkit.plugins.faults import errors
    from toolkit.plugins.lint import EXAMPLE_TOKENS, live_faults
    from toolkit.plugins.lint import lint as check
    from toolkit.plugins.manifest import manifest_file, read_text
    from toolkit.plugins.tokens import tokenizer_of

    file = manifest_file(path)
    tokenizer = tokenizer_of(model) if model else None
    reading, faults = check(read_text(file), tokenizer=tokenizer, budget=budget or EXAMPLE_TOKENS)
    if live and reading.manifest:
        faults += live_faults(reading, _toolbox([str(file)], allow_host, secret_env))
    wrong = len(errors(faults))
    if as_json:
        _json({"file": str(file), "ok": not wrong, "faults": [fault.record() for fault in faults]})
    else:
        for fault in faults:
            typer.echo(fault.render(str(file)))
        typer.echo(f"{file}: {wrong} errors, {len(faults) - wrong} warnings")
    if wrong:
        raise typer.Exit(UserError.exit_code)


@app.command()
def fix(
    path: Annotated[Path, typer.Argument(help="manifest file or folder")],
    write: Annotated[bool, typer.Option("--write", help="change the file instead of printing")] = False,
) -> None:
    """Turn a loosely written manifest into strict JSON; changes the writing only."""
    from toolkit.plugins.manifest import manifest_file, read_text
    from toolkit.plugins.writing import fixed

    file = manifest_file(path)
    text, count = fixed(read_text(file), str(file))
    if not write:
        typer.echo(text, nl=False)
        return
    _write(file, text, replace=True)
    typer.echo(f"{file}: {count} things put right")


@app.command("compile")
def compile_(
    plugins: Annotated[list[str], typer.Argument(help="manifest files, folders, built-in or installed plugins")],
    syntax: Annotated[str, typer.Option(help="how calls are written: arrow or equals")] = "arrow",
    first: Annotated[int | None, typer.Option(min=0, help="keep that many examples of each plugin")] = None,
    seed: Annotated[int | None, typer.Option(help="shuffle the examples with this seed")] = None,
    tokens: Annotated[
        int | None, typer.Option(min=0, help="stop before the fragment exceeds this; needs --model")
    ] = None,
    context: Annotated[int | None, typer.Option(min=1, help="the model's context length; needs --model")] = None,
    reserve: Annotated[int, typer.Option(min=0, help="tokens of the context kept for question and reply")] = 256,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Show the prompt fragment of a set of plugins, with the tokens of each example when --model is given."""
    from toolkit.plugins.compile import Budget, compile_plugins, shots
    from toolkit.plugins.discover import open_plugin
    from toolkit.plugins.examples import example_fragment
    from toolkit.plugins.tokens import syntax_of, tokenizer_of

    marks, tokenizer = syntax_of(syntax), tokenizer_of(model) if model else None
    budget = None
    if tokens is not None or context is not None:
        if tokenizer is None:
            raise UserError("a length in tokens needs a tokenizer", "--tokens/--context", "add --model")
        limits = [Budget.of_context(tokenizer, context, reserve).tokens] if context is not None else []
        budget = Budget(tokenizer, min([*limits, *([tokens] if tokens is not None else [])]))
    manifests = [open_plugin(plugin).manifest for plugin in plugins]
    chosen = shots(manifests, marks, first=first, seed=seed, budget=budget)
    parts = [example_fragment(shot.question, shot.answer, marks) for shot in chosen]
    counts = [len(part.ids(tokenizer)) if tokenizer else None for part in parts]
    if as_json:
        whole = compile_plugins(manifests, marks, first=first, seed=seed, budget=budget)
        rows = [
            {"plugin": shot.plugin, "api": shot.api, "example": shot.index, "tokens": count, "segments": _cuts(part)}
            for shot, part, count in zip(chosen, parts, counts, strict=True)
        ]
        _json({"text": whole.text, "sha256": whole.digest, "tokens": _total(counts), "examples": rows})
        return
    for shot, part, count in zip(chosen, parts, counts, strict=True):
        if count is not None:
            typer.echo(f"# {shot.plugin}: {shot.api}[{shot.index}], {count} tokens", err=True)
        typer.echo(part.text, nl=False)
    known = [count for count in counts if count is not None]
    typer.echo(f"# {len(parts)} examples" + (f", {sum(known)} tokens" if tokenizer else ""), err=True)


@app.command()
def call(
    plugin: PluginArgument,
    api: Annotated[str, typer.Argument(help="API name")],
    arguments: Annotated[str, typer.Argument(help="the argument string")] = "",
    history: Annotated[list[str] | None, typer.Option(help="a turn, oldest first: user:TEXT or assistant:TEXT")] = None,
    allow_host: AllowHost = None,
    secret_env: SecretEnv = None,
    as_json: Json = False,
) -> None:
    """Make one call by hand and print its result. Exit 1 when the call fails."""
    toolbox = _toolbox([plugin], allow_host, secret_env)
    if api not in toolbox.names:
        raise UserError(f"the plugin has no API {api}", plugin, f"its APIs: {', '.join(toolbox.names)}")
    outcome = toolbox.run(api, arguments, [_turn(text) for text in history or ()])
    if as_json:
        _json({"api": api, "arguments": arguments, "status": outcome.status, "text": outcome.text})
        if not outcome.ok:
            raise typer.Exit(RunError.exit_code)
    elif outcome.ok:
        typer.echo(outcome.text)
    else:
        raise RunError(f"{api}({arguments}): {outcome.status}: {outcome.text}")


@app.command()
def serve(
    target: Annotated[str, typer.Argument(help="module:variable of a Plugin")],
    host: Annotated[str, typer.Option(help="address to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    base_url: Annotated[str | None, typer.Option(help="where callers reach it, for the manifest")] = None,
) -> None:
    """Serve a Python plugin over HTTP, with its manifest, health and OpenAPI document."""
    try:
        import uvicorn

        from toolkit.plugins.serve import find_plugin, make_app
    except ModuleNotFoundError as error:
        raise UserError(f"serving needs {error.name}", fix="pip install 'heldout-toolkit[serve]'") from error
    if base_url is None and host in ("0.0.0.0", "::", ""):
        raise UserError("the manifest must say where callers reach the server", "--host " + host, "add --base-url")
    uvicorn.run(make_app(find_plugin(target), base_url or f"http://{host}:{port}"), host=host, port=port)


@app.command("mcp-serve")
def mcp_serve(
    plugin: PluginArgument,
    http: Annotated[bool, typer.Option("--http", help="streamable HTTP at /mcp instead of standard input")] = False,
    host: Annotated[str, typer.Option(help="address to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
    allow_host: AllowHost = None,
    secret_env: SecretEnv = None,
) -> None:
    """Offer a plugin's APIs as the tools of an MCP server, on standard input and output or over HTTP."""
    from toolkit.plugins.discover import open_plugin

    try:
        from toolkit.tools.mcp_server import describe, mcp_server, serve_mcp
    except ModuleNotFoundError as error:
        raise UserError(f"MCP needs {error.name}", fix="pip install 'heldout-toolkit[mcp]'") from error
    manifest, toolbox = open_plugin(plugin).manifest, _toolbox([plugin], allow_host, secret_env)
    said = {name: describe(manifest.description, api.examples) for name, api in manifest.apis.items()}
    if not http:
        serve_mcp(toolbox, said, manifest.name)
        return
    import uvicorn

    uvicorn.run(mcp_server(toolbox, said, manifest.name).streamable_http_app(), host=host, port=port)


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(help="OpenAPI description: file or URL")],
    out: Annotated[Path | None, typer.Option(help="file to write instead of printing")] = None,
    base_url: Annotated[str, typer.Option(help="address of the adapter to be written")] = "http://127.0.0.1:8000",
) -> None:
    """Draft a manifest with an example for each operation of an OpenAPI description."""
    from toolkit.plugins.from_openapi import draft
    from toolkit.plugins.writing import manifest_json

    drafted = draft(source, base_url)
    text = manifest_json(drafted.manifest)
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text)
        count = len(drafted.manifest.apis)
        typer.echo(f"wrote {out}: {count} APIs; edit its examples, then: toolkit plugin lint {out}")
    for note in drafted.notes:
        typer.echo(f"note: {note}", err=True)


def _write(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a file; an existing one is only replaced on purpose."""
    try:
        with path.open("w" if replace else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError("the file exists", str(path), "remove it or give another path") from None
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", str(path)) from None


def _toolbox(plugins: list[str], allow_host: list[str] | None, secret_env: str | None) -> Any:
    """The toolbox of plugins, with the same HTTP settings for each."""
    from toolkit.plugins.discover import open_plugin
    from toolkit.plugins.toolbox import load_toolbox
    from toolkit.tools.http import HttpSettings

    opened = [open_plugin(plugin) for plugin in plugins]
    settings = HttpSettings(private_hosts=frozenset(allow_host or ()), secret_env=secret_env)
    return load_toolbox(opened, settings={plugin.manifest.name: settings for plugin in opened})


def _turn(text: str) -> Any:
    from toolkit.tools.outcome import Turn

    role, colon, said = text.partition(":")
    if role not in ("user", "assistant") or not colon:
        raise UserError(f"{text!r} is no turn", "--history", "write user:TEXT or assistant:TEXT")
    return Turn(role, said.strip())


def _cuts(fragment: Any) -> list[list[str]]:
    return [[segment.kind, segment.text] for segment in fragment.segments]


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
