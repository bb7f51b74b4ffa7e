"""The `toolkit` command: which verbs there are, where each lives, and how a failure becomes one line and an exit code.

A verb's module is imported only when the verb is used, so that `toolkit --help` needs neither torch nor pydantic.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command as command_of

from toolkit.errors import RunError, UserError

STOPPED = 130  # what a shell shows for a command that was interrupted

# verb -> (module:attribute, what --help says). A Typer app becomes a group, a function a command.
VERBS: dict[str, tuple[str, str]] = {
    "plan": ("experiments.verbs:plan", "Show grid, prompts, token counts, time and power of CONFIG; run nothing."),
    "run": ("experiments.verbs:run", "Run or resume CONFIG, then print its matrix."),
    "status": ("experiments.verbs:status", "Say how far RUN is."),
    "score": ("experiments.verbs:score", "Score the stored samples of RUN again; needs no model."),
    "report": ("experiments.report.cli:report", "Write matrix, plots and one self-contained page for RUN."),
    "verify": ("experiments.report.cli:verify", "Recompute everything of RUN from its samples."),
    "compare": ("experiments.report.cli:compare", "Compare RUN with another run or a published table."),
    "tune": ("experiments.tuning.cli:tune", "Train a soft prompt, a prefix or LoRA on the exchanges of plugins."),
    "plugin": ("toolkit.plugins.cli:app", "Write, lint, fix, compile, call, serve and import plugins."),
    "chat": ("toolkit.chat.cli:chat", "Talk to a model that uses plugins."),
    "rest": ("experiments.restbench.commands:app", "Plan and call REST APIs; simulated services and a benchmark."),
}


class Verbs(TyperGroup):
    """A group whose commands are imported on use; until then, each is its name and its one line of help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in for the help page; None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        stand_in = typer.Typer(add_completion=False)
        stand_in.command(name=cmd_name, help=VERBS[cmd_name][1])(_nothing)
        return command_of(stand_in)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The real command of the verb that is about to run."""
        name, command, rest = super().resolve_command(ctx, args)
        return (name, _real(name), rest) if name is not None else (name, command, rest)


def _nothing() -> None:
    """The body of a stand-in."""


def _real(name: str) -> Any:
    module, _, attribute = VERBS[name][0].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if isinstance(found, typer.Typer):
        found.info.name = name
        return command_of(found)
    single = typer.Typer(add_completion=False)
    single.command(name=name, help=found.__doc__)(found)
    return command_of(single)


app = typer.Typer(cls=Verbs, name="toolkit", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _toolkit() -> None:
    """How local language models learn to use tools from a handful of examples."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit: 0 done, 1 the run or check failed, 2 the request was wrong, 130 stopped by hand."""
    sys.exit(outcome(sys.argv[1:] if arguments is None else arguments))


def outcome(arguments: list[str]) -> int:
    """The exit code of one command; failures are one line on stderr."""
    command = command_of(app)
    try:
        code = command.main(args=arguments or ["--help"], prog_name="toolkit", standalone_mode=False)
        if code == STOPPED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except (UserError, RunError) as error:
        print(f"toolkit: {error}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        print("toolkit: stopped; run the same command to go on", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except typer.TyperException as error:
        message = error.format_message()
        print(message if "\n" in message else f"toolkit: {message} (see toolkit --help)", file=sys.stderr)
        return 2


if __name__ == "__main__":  # `accelerate launch -m experiments.cli`
    main()
