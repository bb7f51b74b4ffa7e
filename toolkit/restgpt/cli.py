"""The `rest` commands: ask a question over a described service and watch plan, calls and answer.

Progress goes to standard error, the answer (or the JSON record) to standard output. Everything shown was written by a
model or a server, so control characters are taken out. Imports the rest of the package only when a command runs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from toolkit.errors import UserError

if TYPE_CHECKING:
    from toolkit.restgpt.budget import RunLimits
    from toolkit.restgpt.http import Prepared
    from toolkit.restgpt.trace import Step

app = typer.Typer(help="Answer questions over any REST API that has an OpenAPI description.", no_args_is_help=True)


@app.callback()
def rest() -> None:
    """Answer questions over any REST API that has an OpenAPI description."""


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to find out or do, in plain words.")],
    spec: Annotated[str, typer.Option(help="OpenAPI 2.0, 3.0 or 3.1 description: a file or URL, JSON or YAML.")],
    model: Annotated[
        str,
        typer.Option(help="bundled:NAME, a folder, a hub id, openai:URL#MODEL, completions:URL#MODEL, scripted:FILE."),
    ] = "bundled:smollm2-135m-instruct",
    server: Annotated[str | None, typer.Option(help="Base URL that replaces the description's servers.")] = None,
    key_env: Annotated[str | None, typer.Option(help="Variable that holds the model server's key.")] = None,
    strategy: Annotated[str, typer.Option(help="How to plan; see docs/restgpt.md.")] = "restgpt",
    limit: Annotated[list[str] | None, typer.Option(help="A limit of the run: calls=10, seconds=60, ...")] = None,
    context: Annotated[int | None, typer.Option(help="Tokens the model takes, if other than it says.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent; send nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Send writes without asking.")] = False,
    trace: Annotated[Path | None, typer.Option(help="Write every step as a readable HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole record as JSON.")] = False,
) -> None:
    """Answer a question by planning and making calls.

    Credentials of the service come from REST_KEY_<SCHEME>. Exit code 0: answered; 1: could not; 2: wrong request.
    """
    try:
        from toolkit.models.completion import open_model
        from toolkit.restgpt.http import RestClient, credentials_from_environment
        from toolkit.restgpt.run import Agent
        from toolkit.restgpt.sandbox import protections
        from toolkit.restgpt.spec import load_spec
        from toolkit.restgpt.strategies import find_strategy
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed", fix="install the extra: heldout-toolkit[rest]") from error
    limits = read_limits(limit or [])
    find_strategy(strategy)
    screen = Console(stderr=True, highlight=False, soft_wrap=True)
    description = load_spec(spec)
    if trace is not None:
        _write(trace, "")  # better to hear now that it cannot be written than after the run
    screen.print(f"sandbox for the model's programs: {', '.join(protections()) or 'no protection'}", style="dim")
    if description.repairs:
        screen.print(f"{len(description.repairs)} faults of the description were mended", style="dim")
    with RestClient(description, server, credentials_from_environment(description, os.environ)) as client:
        agent = Agent(
            description,
            open_model(model, key_env, context),
            client,
            strategy,
            limits,
            confirm=(lambda _: True) if yes else (lambda prepared: _confirm(prepared, screen)),
            dry_run=dry_run,
        )
        answer = agent.ask(question, lambda step: show(step, screen))
    if trace is not None:
        _write(trace, answer.page())
    if as_json:
        typer.echo(json.dumps(answer.record()))
    else:
        typer.echo(printable(answer.text))
    raise typer.Exit(0 if answer.status in ("answered", "dry_run") else 1)


def show(step: Step, screen: Console) -> None:
    """One line about a step, for those that a person wants to follow."""
    data = step.data
    match step.kind:
        case "sub_task":
            _line(screen, f"plan ({data['signal']})", data["text"], "bold blue")
        case "api_plan":
            _line(screen, "  calls", data["text"], "cyan")
        case "call":
            body = "" if data["body"] is None else f" {json.dumps(data['body'], ensure_ascii=False)}"
            _line(screen, "  send", f"{data['method']} {data['url']}{body}", "magenta")
        case "exchange":
            problem = f"{data['error']}: {data['message']}" if data["error"] else "ok"
            _line(screen, "  got", f"{data['status'] or '-'} {problem}", "red" if data["error"] else "green")
        case "result":
            _line(screen, "  result", data["text"], "default")
        case "trial":
            _line(screen, f"trial {data['number']}", "; ".join(data["lessons"]), "bold")
        case "limit":
            _line(screen, "limit", data["text"], "red")
        case _:
            pass


def printable(text: str) -> str:
    """The text without control characters (a terminal would obey them), line ends and tabs excepted."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


def read_limits(pairs: list[str]) -> RunLimits:
    """Limits from `name=value` texts. Raises `UserError`."""
    from toolkit.restgpt.budget import RunLimits

    known = {name: type(value) for name, value in vars(RunLimits()).items()}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in known:
            raise UserError(f"there is no limit {name!r}", "--limit", f"the limits are {', '.join(known)}")
        try:
            values[name] = known[name](value)
        except ValueError:
            raise UserError(f"{value!r} is not a number", f"--limit {name}", f"write {name}=10") from None
        if not values[name] > 0:
            raise UserError(f"{name} must be above 0", "--limit")
    return RunLimits(**values)


def _line(screen: Console, label: str, text: str, style: str) -> None:
    margin = "\n" + " " * (len(label) + 1)
    screen.print(Text(label, style).append(f" {printable(text).replace(chr(10), margin)}", "default"))


def _confirm(prepared: Prepared, screen: Console) -> bool:
    """Ask before a write; without a person at the terminal the answer is no."""
    if not sys.stdin.isatty():
        screen.print("  not sent: this call writes; pass --yes to allow writes", style="yellow")
        return False
    body = "" if prepared.body is None else json.dumps(prepared.body, ensure_ascii=False)
    return typer.confirm(printable(f"Send {prepared.method} {prepared.url} {body}?"), default=False, err=True)


def _write(path: Path, page: str) -> None:
    """Write the trace page. Raises `UserError` when the path cannot be written."""
    try:
        path.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot write the trace: {error.strerror}", str(path), "give another path") from error
