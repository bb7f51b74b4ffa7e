"""Finds the first call in a whole text: the scanner's rules once more, written to be read and not to be fast.

The plain reference loop and the tests use it as an oracle of `toolkit.calls.scanner`; it shares the caps and the `Call`
type with it, and no logic.
"""

from __future__ import annotations

import string

from toolkit.calls.scanner import MAX_ARGUMENTS, MAX_NAME, Call
from toolkit.calls.syntax import Syntax

FIRST = string.ascii_letters + "_"
LETTERS = FIRST + string.digits + ".-"


def find_call(text: str | bytes, syntax: Syntax, first_only: bool = False) -> Call | None:
    """The first call that closes in `text`, or None. Offsets are bytes of the UTF-8 text."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    stream = data.decode("latin-1")  # one character per byte, so offsets stay bytes
    if first_only:
        return _first_only(stream, syntax)
    at = 0
    while at < len(stream):
        header = _header(stream, at, syntax)
        if header is None:
            at += 1
            continue
        name, begin = header
        end, closed = _arguments(stream, begin, syntax)
        if closed:
            return Call(_text(name), _text(stream[begin:end]), at, end + 1)
        at = end
    return None


def _header(stream: str, at: int, syntax: Syntax) -> tuple[str, int] | None:
    """Name and start of the arguments when `opener NAME args_open` stands at `at`."""
    if not stream.startswith(syntax.opener, at):
        return None
    begin = at + len(syntax.opener)
    end = begin
    while end < len(stream) and stream[end] in LETTERS:
        end += 1
    name = stream[begin:end]
    if not name or name[0] not in FIRST or len(name) > MAX_NAME or not stream.startswith(syntax.args_open, end):
        return None
    return name, end + len(syntax.args_open)


def _arguments(stream: str, begin: int, syntax: Syntax) -> tuple[int, bool]:
    """Where the arguments end, and whether by their closing mark (else by newline, cap or end of text)."""
    depth, quote, at = 1, "", begin
    while at < len(stream):
        char = stream[at]
        previous = stream[at - 1] if at > begin else ""
        if not quote and char == syntax.args_close and depth == 1:
            return at, True
        if char == "\n" or at - begin == MAX_ARGUMENTS:
            return at, False
        if quote and char == "\\" and stream[at + 1 : at + 2] not in ("", "\n") and at + 1 - begin < MAX_ARGUMENTS:
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and not _is_word(previous):
            quote = char
        else:
            depth += (char == syntax.args_open[-1]) - (char == syntax.args_close)
        at += 1
    return at, False


def _is_word(char: str) -> bool:
    return char != "" and (char >= "\x80" or char in string.ascii_letters + string.digits + "_")


def _first_only(stream: str, syntax: Syntax) -> Call | None:
    """First opener, first `(` and first `)` of the first line, in this order."""
    line = stream.split("\n", 1)[0]
    opener, opened, closed = (line.find(mark) for mark in (syntax.opener, syntax.args_open, syntax.args_close))
    inside = opener + len(syntax.opener)
    if not 0 <= opener < opened < closed or closed - inside > MAX_ARGUMENTS:
        return None
    name, arguments = line[inside:opened], line[opened + len(syntax.args_open) : closed]
    return Call(_text(name), _text(arguments), opener, closed + len(syntax.args_close))


def _text(stream: str) -> str:
    return stream.encode("latin-1").decode("utf-8", "replace").strip()
