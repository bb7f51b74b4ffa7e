"""Finds the first call in a stream of model-written bytes, one scanner per row.

The scanner is fed whatever a token happens to hold: half a character, the end of one mark and the start of the next.
It keeps only the open candidate, so memory is bounded by the caps below and time is linear in the bytes fed. It knows
nothing of tokens, models or tools. `toolkit.calls.find` says the same thing once more, over a whole text, as an oracle.

A header is `opener NAME args_open` with nothing but the syntax's blanks in between, so of `[1] [MATH(` the last opener
counts. Balanced arguments run to the matching `args_close`; parentheses inside quoted strings ('...' or "...", with
backslash escapes) do not count. A quote mark right after a letter or digit is an apostrophe or an inch mark, not the
start of a string. A newline, or more than `MAX_ARGUMENTS` bytes, ends the candidate, and the search goes on from there:
a string that never closes hides a call for the rest of its line at most. JSON arguments are one object, found by its
braces; an object that does not parse, or names no API, is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolkit.calls.arguments import READERS, Reader, Step, from_object
from toolkit.calls.syntax import Syntax

MAX_NAME = 64
MAX_ARGUMENTS = 4096
MAX_BLANKS = 8


@dataclass(frozen=True)
class Call:
    """A call as the model wrote it.

    `start` and `end` are byte offsets since the last reset: `start` is the opener, `end` is just past the mark that
    closes the arguments. `name` and `arguments` are stripped text (invalid UTF-8 becomes U+FFFD); of a JSON object that
    holds one string, `arguments` is this string (see `toolkit.calls.arguments.from_object`).
    """

    name: str
    arguments: str
    start: int
    end: int


class Scanner:
    """Incremental scanner of one row.

    `first_only` is the published protocol (operator transfer, section 4, faults F2 and F3): only the first `[`, `(` and
    `)` of the stream count, in this order, or there is no call until `reset`. A newline ends its segment. It needs a
    syntax with balanced arguments.
    """

    def __init__(self, syntax: Syntax, first_only: bool = False) -> None:
        self._search: _Marked | _FirstOnly = _FirstOnly(syntax) if first_only else _Marked(syntax)
        self._hit = False

    def feed(self, data: bytes) -> Call | None:
        """Take the next bytes of the stream; the first call that closes in them, or None.

        Bytes beyond `Call.end` are the overhang; they are forgotten. After a call, feeding raises RuntimeError until
        `reset`.
        """
        if self._hit:
            raise RuntimeError("this scanner has found a call; reset it before feeding more")
        call = self._search.feed(data)
        self._hit = call is not None
        return call

    def reset(self) -> None:
        """Forget everything; the next byte has offset 0."""
        self._search.reset()
        self._hit = False


class _Marked:
    """Header by regular expression over a short tail, arguments byte by byte."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._header = header(syntax)
        self._tail_size = len(syntax.opener.encode()) + MAX_NAME + len(syntax.args_open.encode()) + 3 * MAX_BLANKS + 1
        self.reset()

    def reset(self) -> None:
        self._read = 0
        self._tail = b""
        self._drop()

    def _drop(self) -> None:
        """No candidate is open."""
        self._reader: Reader | None = None
        self._name: bytes | None = None
        self._held = bytearray()
        self._start = 0

    def feed(self, data: bytes) -> Call | None:
        data, self._tail, self._read = self._tail + data, b"", self._read - len(self._tail)
        at = 0
        while at < len(data):
            if self._reader is None:
                at = self._seek(data, at)
                continue
            at, closed = self._read_arguments(self._reader, data, at)
            call = self._call(self._read + at) if closed else None
            if call is not None:
                return call
            if closed:
                self._drop()
        self._read += len(data)
        return None

    def _seek(self, data: bytes, at: int) -> int:
        """Look for a header in `data[at:]`; the position up to which data is used. What may begin one is kept."""
        found = self._header.search(data, at)
        if found is None:
            self._tail = data[max(at, len(data) - self._tail_size) :]
            return len(data)
        self._reader = READERS[self._syntax.arguments](self._syntax)
        self._name = found["name"] if "name" in self._header.groupindex else None
        self._start = self._read + found.start()
        return found.end()

    def _read_arguments(self, reader: Reader, data: bytes, at: int) -> tuple[int, bool]:
        """Read up to the closing mark or the byte that ends the candidate: the position, and whether it closed."""
        for position in range(at, len(data)):
            step = reader.push(data[position])
            if step is Step.CLOSED:
                return position + 1, True
            if step is Step.BROKEN or len(self._held) == MAX_ARGUMENTS:
                self._drop()
                return position, False
            self._held.append(data[position])
        return len(data), False

    def _call(self, end: int) -> Call | None:
        """The call that closed at offset `end`; None when its object does not describe one."""
        name = None if self._name is None else _text(self._name)
        text = _text(bytes(self._held))
        if self._syntax.arguments == "json":
            parts = from_object(self._syntax, name, f"{{{text}}}")
            return None if parts is None else Call(*parts, self._start, end)
        return Call(name or "", text, self._start, end)


def header(syntax: Syntax) -> re.Pattern[bytes]:
    """The pattern of what stands before the arguments; its group `name`, if it has one, is the API's name."""
    blanks = b"[%s]{0,%d}" % (re.escape(syntax.blanks.encode()), MAX_BLANKS) if syntax.blanks else b""
    opener, args_open = (re.escape(mark.rstrip(syntax.blanks).encode()) for mark in (syntax.opener, syntax.args_open))
    if syntax.name_in == "json":
        return re.compile(opener + blanks + rb"\{(?=[ \t\r\n]{0,%d}\")" % MAX_BLANKS)
    name = rb"(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,%d})" % (MAX_NAME - 1)
    pattern = opener + blanks + name + blanks + args_open
    return re.compile(pattern + blanks + rb"\{" if syntax.arguments == "json" else pattern)


class _FirstOnly:
    """The first opener, the first `(` and the first `)` of the segment."""

    def __init__(self, syntax: Syntax) -> None:
        self._opener = syntax.opener.encode()
        self._open, self._close = syntax.args_open.encode(), syntax.args_close.encode()
        self.reset()

    def reset(self) -> None:
        self._read = 0
        self._held: bytes | None = None
        self._dead = False

    def feed(self, data: bytes) -> Call | None:
        if self._dead:
            return None
        line, newline, _ = data.partition(b"\n")
        call = self._scan(line)
        self._read += len(line)
        self._dead = self._dead or bool(newline) or len(self._held or b"") > MAX_ARGUMENTS
        return call

    def _scan(self, line: bytes) -> Call | None:
        if self._held is None:
            before, opener, after = line.partition(self._opener)
            self._dead = self._open in before or self._close in before
            if self._dead or not opener:
                return None
            self._start, self._held = self._read + len(before), after
        else:
            self._held += line
        opened, closed = self._held.find(self._open), self._held.find(self._close)
        self._dead = closed > MAX_ARGUMENTS or (closed >= 0 and not 0 <= opened < closed)
        if closed < 0 or self._dead:
            return None
        end = self._start + len(self._opener) + closed + len(self._close)
        name, arguments = self._held[:opened], self._held[opened + len(self._open) : closed]
        return Call(_text(name), _text(arguments), self._start, end)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()
