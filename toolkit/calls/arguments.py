"""Where the arguments of an open call end, byte by byte, and what they say; one reader per way of delimiting them.

A reader sees each byte after the header once and keeps a few numbers, never the text. It knows nothing of streams,
offsets and caps, which are the scanner's.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Protocol

from toolkit.calls.syntax import Syntax

NEWLINE, BACKSLASH, QUOTE = ord("\n"), ord("\\"), ord('"')
BRACE_OPEN, BRACE_CLOSE = ord("{"), ord("}")
QUOTES = frozenset(b"'\"")
WORD = frozenset(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_"))
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


class Step(Enum):
    """What a byte did to the arguments."""

    OPEN = 0
    CLOSED = 1
    BROKEN = 2


class Reader(Protocol):
    """Reads the arguments of one call."""

    def push(self, byte: int) -> Step:
        """Take the next byte."""
        ...


class Parentheses:
    """Up to the matching closing mark; a newline breaks. Marks inside quoted strings do not count."""

    def __init__(self, syntax: Syntax) -> None:
        self._open, self._close = ord(syntax.args_open[-1]), ord(syntax.args_close)
        self._depth, self._quote, self._previous = 1, 0, 0
        self._escaped = False

    def push(self, byte: int) -> Step:
        """Take the next byte."""
        if byte == NEWLINE:
            return Step.BROKEN
        if self._escaped:
            self._escaped = False
        elif self._quote:
            self._escaped = byte == BACKSLASH
            self._quote = 0 if byte == self._quote else self._quote
        elif byte in QUOTES and self._previous not in WORD:
            self._quote = byte
        else:
            self._depth += (byte == self._open) - (byte == self._close)
        self._previous = byte
        return Step.OPEN if self._depth else Step.CLOSED


class Line:
    """Up to the first closing mark, a single byte."""

    def __init__(self, syntax: Syntax) -> None:
        self._close = ord(syntax.args_close)

    def push(self, byte: int) -> Step:
        """Take the next byte."""
        return Step.CLOSED if byte == self._close else Step.OPEN


class Braces:
    """The rest of a JSON object, its opening brace already read. A newline inside a string breaks, as JSON has it."""

    def __init__(self, syntax: Syntax) -> None:
        self._depth = 1
        self._quoted = self._escaped = False

    def push(self, byte: int) -> Step:
        """Take the next byte."""
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            if byte == NEWLINE:
                return Step.BROKEN
            self._escaped = byte == BACKSLASH
            self._quoted = byte != QUOTE
        else:
            self._quoted = byte == QUOTE
            self._depth += (byte == BRACE_OPEN) - (byte == BRACE_CLOSE)
        return Step.OPEN if self._depth else Step.CLOSED


READERS: dict[str, type[Parentheses] | type[Line] | type[Braces]] = {
    "balanced": Parentheses,
    "line": Line,
    "json": Braces,
}


def from_object(syntax: Syntax, name: str | None, text: str) -> tuple[str, str] | None:
    """Name and argument string of a call whose arguments are the JSON object `text`; None when it is no call.

    `name` is the name in front, or None when the object holds it. An object with `text_key` alone gives its string, an
    empty one the empty string, any other its JSON.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if name is None:
        name, value = value.get("name"), value.get(syntax.arguments_key, {})
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    if isinstance(value, dict) and set(value) == {syntax.text_key}:
        value = value[syntax.text_key]
    if isinstance(value, str):
        return name, value.strip()
    return name, json.dumps(value, ensure_ascii=False) if value else ""
