"""How a call is written, as data: the marks around a call, its arguments and its result.

A syntax holds no code that depends on which syntax it is; the scanner, the compiler and the injector read the marks.
This file knows nothing of tools, models or tokens.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Syntax:
    """The marks of `opener NAME args_open ARGUMENTS args_close result RESULT closer`, e.g. `[MATH(1 + 2) -> 3]`."""

    name: str
    opener: str
    args_open: str
    args_close: str
    result: str
    closer: str

    def call(self, name: str, arguments: str) -> str:
        """The part that a model writes: `[MATH(1 + 2)`."""
        return f"{self.opener}{name}{self.args_open}{arguments}{self.args_close}"

    def injection(self, result: str) -> str:
        """The part that the toolkit writes: ` -> 3]`."""
        return f"{self.result}{result}{self.closer}"

    def silent(self) -> str:
        """What closes a call that has no result: `]`."""
        return self.closer


ARROW = Syntax("arrow", "[", "(", ")", " -> ", "]")
EQUALS = Syntax("equals", "[", "(", ")", "=", "]")
SYNTAXES = {syntax.name: syntax for syntax in (ARROW, EQUALS)}
