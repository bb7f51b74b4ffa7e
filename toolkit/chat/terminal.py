"""The chat at a terminal, in a pipe, and as JSON lines.

Shows the model's text as it is written, with calls and results in colours of their own. The first Ctrl-C stops an
answer, the second leaves. Knows an assistant's methods and nothing of what is behind it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolkit.assistant import Assistant
from toolkit.calls.find import find_call
from toolkit.calls.syntax import Syntax
from toolkit.errors import UserError
from toolkit.models.cache import cache_folder
from toolkit.models.completion import ModelError

PROMPT = "\033[1m>\033[0m "
CALL, RESULT, DIM, WRONG = "cyan", "green", "dim", "red"
HELP = "/plugins lists the APIs, /history what was said, /reset forgets it, /quit leaves (so do Ctrl-D and two Ctrl-C)."
LONGEST_HELD = 4200  # characters that may be a call; more are shown as they are


class Painter:
    """Prints a growing answer. What may become a call is held back until it is one or cannot be."""

    def __init__(self, console: Console, syntax: Syntax) -> None:
        self._console, self._syntax = console, syntax
        self._opener = syntax.opener.rstrip() or "{"
        self._held = ""
        self._begun = False

    def show(self, text: str, by_model: bool) -> None:
        """The next stretch, and whether the model wrote it."""
        if not by_model:
            self._print(self._held, CALL)
            self._held = ""
            self._print(text, RESULT)
            return
        before, opener, rest = (self._held + text).partition(self._opener)
        self._print(before)
        self._held = opener + rest
        call = find_call(self._held, self._syntax) if self._held else None
        if call is not None:
            self._print(self._held, CALL)
            self._held = ""
        elif len(self._held) > LONGEST_HELD or (self._syntax.arguments == "balanced" and "\n" in self._held):
            self.end()

    def end(self) -> None:
        """Nothing more will make a call of what is held."""
        self._print(self._held)
        self._held = ""

    def _print(self, text: str, style: str = "") -> None:
        text = text if self._begun else text.lstrip()
        if text:
            self._begun = True
            self._console.print(Text(text, style), end="", soft_wrap=True)


class Terminal:
    """One conversation with a person."""

    def __init__(self, assistant: Assistant, syntax: Syntax, console: Console | None = None) -> None:
        self._assistant, self._syntax = assistant, syntax
        self._console = console or Console(highlight=False)
        self._commands: dict[str, Callable[[], None]] = {
            "/help": lambda: self._say(HELP),
            "/plugins": self._plugins,
            "/history": self._history,
            "/reset": self._reset,
        }

    def run(self, read: Callable[[], str]) -> None:
        """Read and answer until the end of input, /quit, or two Ctrl-C in a row."""
        self._say(f"{self._assistant.writer.name}, {len(self._assistant.toolbox.names)} APIs. {HELP}")
        interrupted = False
        while True:
            try:
                line = read().strip()
                if line in ("/quit", "/exit"):
                    return
                if line:
                    self.answer(line)
                interrupted = False
            except EOFError:
                self._console.print()
                return
            except KeyboardInterrupt:
                self._console.print()
                if interrupted:
                    return
                interrupted = True
                self._say("stopped; Ctrl-C again leaves")

    def answer(self, line: str) -> None:
        """Do what a line asks for."""
        if line.startswith("/"):
            self._commands.get(line.split()[0], lambda: self._say(f"no such command. {HELP}"))()
            return
        painter = Painter(self._console, self._syntax)
        try:
            answer = self._assistant.ask(line, painter.show)
            painter.end()
            self._console.print()
            for call in answer.calls:
                if not call.outcome.ok:
                    self._say(f"{call.name}({call.arguments}): {call.outcome.status}: {call.outcome.text}", WRONG)
            if answer.finish not in ("stop", "eos"):
                self._say(f"(ended: {answer.finish})")
        except (ModelError, UserError) as error:
            painter.end()
            self._console.print()
            self._say(str(error), WRONG)

    def _plugins(self) -> None:
        table = Table("plugin", "API", "arguments", "example", box=None)
        for plugin in self._assistant.plugins:
            for name, api in plugin.manifest.apis.items():
                takes = (api.pattern or "any") if api.arguments else "none"
                example = api.examples[-1][1] if api.examples else ""
                table.add_row(Text(plugin.manifest.name), Text(name, CALL), Text(takes), Text(example, DIM))
        self._console.print(table)

    def _history(self) -> None:
        for one in self._assistant.past:
            self._console.print(Text(f"> {one.question}", "bold"), soft_wrap=True)
            self._console.print(Text(one.text.strip()), soft_wrap=True)

    def _reset(self) -> None:
        self._assistant.reset()
        self._say("forgotten")

    def _say(self, text: str, style: str = DIM) -> None:
        self._console.print(Text(text, style), soft_wrap=True)


def at_terminal(assistant: Assistant, syntax: Syntax) -> None:
    """Talk to the person at the terminal; what is typed is kept for the arrow keys, also of the next time."""
    with _typed():
        Terminal(assistant, syntax).run(lambda: input(PROMPT))


def piped(assistant: Assistant, lines: Iterator[str], as_json: bool) -> bool:
    """Answer each line on standard output, as text or as one JSON object per line; whether all went well."""
    well = True
    for line in lines:
        question = line.strip()
        if not question or question in ("/quit", "/exit"):
            if question:
                break
            continue
        if question == "/reset":
            assistant.reset()
            continue
        try:
            answer = assistant.ask(question)
            print(json.dumps(answer.record(), ensure_ascii=False) if as_json else answer.text.strip(), flush=True)
        except ModelError as error:
            well = False
            if as_json:
                print(json.dumps({"question": question, "error": str(error)}, ensure_ascii=False), flush=True)
            else:
                print(f"toolkit: {error}", file=sys.stderr, flush=True)
    return well


class _typed:
    """Line editing with a history file in the user's cache; without it where the system has no readline."""

    def __init__(self) -> None:
        self._file: Path = cache_folder() / "chat_history"

    def __enter__(self) -> None:
        with suppress(ImportError, OSError):
            import readline

            readline.set_history_length(1000)
            readline.read_history_file(self._file)

    def __exit__(self, *_: object) -> None:
        with suppress(ImportError, OSError):
            import readline

            self._file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(self._file)
            self._file.chmod(0o600)
