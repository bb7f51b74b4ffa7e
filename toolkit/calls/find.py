"""Finds the first call in a whole text: the scanner's rules once more, written to be read and not to be fast.

The plain reference loop and the tests use it as an oracle of `toolkit.calls.scanner`. It shares the caps, the `Call`
type and the reading of a JSON object with it, and nothing of how calls are found.
"""

from __future__ import annotations

import string

from toolkit.calls.arguments import from_object
from toolkit.calls.scanner import MAX_ARGUMENTS, MAX_BLANKS, MAX_NAME, Call
from toolkit.calls.syntax import Syntax

FIRST = string.ascii_letters + "_"
LETTERS = FIRST + string.digits + ".-"
JSON_BLANKS = " \t\r\n"


def find_call(text: str | bytes, syntax: Syntax, first_only: bool = False) -> Call | None:
    """The first call that closes in `text`, or None. Offsets are bytes of the UTF-8 text."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    stream = data.decode("latin-1")  # one character per byte, so offsets stay bytes
    if first_only:
        return _first_only(stream, syntax)
    at = 0
    while at < len(stream):
        found = _header(stream, at, syntax)
        if found is None:
            at += 1
            continue
        name, begin = found
        end, closed = ENDS[syntax.arguments](stream, begin, syntax)
        call = _call(name, stream[begin:end], at, end, syntax) if closed else None
        if call is not None:
            return call
        at = end + closed
    return None


def _call(name: str, body: str, start: int, end: int, syntax: Syntax) -> Call | None:
    if syntax.arguments != "json":
        return Call(name, _text(body), start, end + 1)
    parts = from_object(syntax, name or None, "{" + _text(body) + "}")
    return None if parts is None else Call(*parts, start, end + 1)


def _header(stream: str, at: int, syntax: Syntax) -> tuple[str, int] | None:
    """Name ("" when it is in the object) and start of the arguments when a header stands at `at`."""
    opener, args_open = syntax.opener.rstrip(syntax.blanks), syntax.args_open.rstrip(syntax.blanks)
    if not stream.startswith(opener, at):
        return None
    at = _skip(stream, at + len(opener), syntax.blanks)
    if syntax.name_in == "json":
        quote = _skip(stream, at + 1, JSON_BLANKS)
        return ("", at + 1) if stream[at : at + 1] == "{" and stream[quote : quote + 1] == '"' else None
    end = at
    while end < len(stream) and stream[end] in LETTERS:
        end += 1
    name, end = stream[at:end], _skip(stream, end, syntax.blanks)
    if not name or name[0] not in FIRST or len(name) > MAX_NAME or not stream.startswith(args_open, end):
        return None
    end += len(args_open)
    if syntax.arguments != "json":
        return name, end
    end = _skip(stream, end, syntax.blanks)
    return (name, end + 1) if stream[end : end + 1] == "{" else None


def _skip(stream: str, at: int, blanks: str) -> int:
    end = at
    while end < len(stream) and stream[end] in blanks and end - at < MAX_BLANKS:
        end += 1
    return end


def _balanced(stream: str, begin: int, syntax: Syntax) -> tuple[int, bool]:
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


def _line(stream: str, begin: int, syntax: Syntax) -> tuple[int, bool]:
    """The next closing mark, if it is within the cap."""
    end = stream.find(syntax.args_close, begin, begin + MAX_ARGUMENTS + 1)
    return (end, True) if end >= 0 else (min(begin + MAX_ARGUMENTS, len(stream)), False)


def _json(stream: str, begin: int, syntax: Syntax) -> tuple[int, bool]:
    """The brace that closes the object."""
    depth, quoted, at = 1, False, begin
    while at < len(stream):
        char = stream[at]
        if char == "}" and depth == 1 and not quoted:
            return at, True
        if at - begin == MAX_ARGUMENTS or (quoted and char == "\n"):
            return at, False
        if quoted and char == "\\" and at + 1 - begin < MAX_ARGUMENTS:
            at += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char == "{") - (char == "}")
        at += 1
    return at, False


ENDS = {"balanced": _balanced, "line": _line, "json": _json}


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
