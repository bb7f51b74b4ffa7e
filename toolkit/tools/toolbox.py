"""A set of tools by API name, behind one call that never raises.

The toolbox checks what the model wrote (name, length, the API's pattern) before anything runs, and turns whatever a
tool does, an exception included, into an Outcome. It knows nothing of syntaxes, tokens or threads: `run` blocks until
the tool is done, and whoever runs it off-thread gives up after `deadline` seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import regex

from toolkit.errors import UserError
from toolkit.tools.outcome import Outcome, Tool, Turn

MAX_ARGUMENT = 4096  # characters of one argument string
MAX_PATTERN = 1000  # characters of one API's pattern
MAX_REPEATS = 100_000  # product of a pattern's minimum counts: `regex` unrolls them, (?:a{60000}){600} takes gigabytes
PATTERN_SECONDS = 0.05  # a pattern that backtracks for longer refuses the argument
REPEAT = regex.compile(r"\{\s*([0-9]+)")
MAX_REASON = 300  # characters of a failure's text


class Toolbox:
    """Runs calls by name.

    `patterns` holds, for the APIs that have one, a regular expression that the whole argument must match; `turns` how
    many history turns an API gets (0 when absent). `deadline` is the time in seconds that a tool which is not inline
    gets before its caller stops waiting.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        patterns: Mapping[str, str] | None = None,
        turns: Mapping[str, int] | None = None,
        deadline: float = 10.0,
    ) -> None:
        self._tools = dict(tools)
        self._patterns = {name: compile_pattern(text, name) for name, text in (patterns or {}).items()}
        self._turns = dict(turns or {})
        self.deadline = deadline

    @property
    def names(self) -> tuple[str, ...]:
        """API names in the order given."""
        return tuple(self._tools)

    def inline(self, name: str) -> bool:
        """Whether `run(name, ...)` returns within microseconds: an inline tool, or a name that nothing knows."""
        return name not in self._tools or self._tools[name].inline

    def turns(self, name: str) -> int:
        """How many history turns the API asks for."""
        return self._turns.get(name, 0)

    def run(self, name: str, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """Run one call. Every failure is an Outcome; nothing is raised."""
        tool = self._tools.get(name)
        if tool is None:
            return Outcome("unknown", reason(f"no API is named {name}"))
        refusal = self._refusal(name, arguments)
        if refusal is not None:
            return Outcome("refused", refusal)
        turns = self.turns(name)
        started = time.perf_counter()
        try:
            outcome = tool.run(arguments, tuple(history[-turns:]) if turns else ())
            status, text = outcome.status, str(outcome.text)
        except Exception as error:
            status, text = "error", reason(f"{type(error).__name__}: {error}")
        return Outcome(status, text, time.perf_counter() - started)

    def _refusal(self, name: str, arguments: str) -> str | None:
        """Why the argument may not reach the tool, or None."""
        if len(arguments) > MAX_ARGUMENT:
            return f"the argument is longer than {MAX_ARGUMENT} characters"
        pattern = self._patterns.get(name)
        if pattern is None:
            return None
        try:
            matched = pattern.fullmatch(arguments, timeout=PATTERN_SECONDS)
        except TimeoutError:
            return f"matching the pattern of {name} took more than {PATTERN_SECONDS} s"
        return None if matched else f"the argument does not match the pattern of {name}"


def compile_pattern(pattern: str, name: str) -> regex.Pattern[str]:
    """The compiled pattern of API `name`; UserError when it is too long or no regular expression."""
    where = f"pattern of {name}"
    if len(pattern) > MAX_PATTERN:
        raise UserError(f"{len(pattern)} characters long", where, f"keep it within {MAX_PATTERN} characters")
    if math.prod(max(int(count), 1) for count in REPEAT.findall(pattern)) > MAX_REPEATS:
        raise UserError("its repeat counts multiply to too many", where, f"keep the product within {MAX_REPEATS}")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise UserError(f"not a regular expression: {error}", where, "correct the pattern") from None


def reason(text: str) -> str:
    """A failure's text on one line, capped."""
    return " ".join(text[: 4 * MAX_REASON].split())[:MAX_REASON]
