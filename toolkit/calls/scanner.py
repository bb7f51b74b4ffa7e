"""Finds the first call in a stream of model-written bytes, one scanner per row.

The scanner is fed whatever a token happens to hold: half a character, the end of one mark and the start of the next.
It keeps only the open candidate, so memory is bounded by the caps below and time is linear in the bytes fed. It knows
nothing of tokens, models or tools. `toolkit.calls.find` says the same thing once more, over a whole text, as an oracle.

Rules of the balanced scanner: a header is `opener NAME args_open` with nothing else in between, so of `[1] [MATH(` the
last opener counts. Arguments run to the matching `args_close`; parentheses inside quoted strings ('...' or "...", with
backslash escapes) do not count. A quote mark right after a letter or digit is an apostrophe or an inch mark, not the
start of a string. A newline, or more than `MAX_ARGUMENTS` bytes, ends the candidate, and the search goes on from there:
a string that never closes hides a call for the rest of its line at most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolkit.calls.syntax import Syntax

MAX_NAME = 64
MAX_ARGUMENTS = 4096
NEWLINE, BACKSLASH = ord("\n"), ord("\\")
QUOTES = frozenset(b"'\"")
WORD = frozenset(byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_"))


@dataclass(frozen=True)
class Call:
    """A call as the model wrote it.

    `start` and `end` are byte offsets since the last reset: `start` is the opener, `end` is just past the mark that
    closes the arguments. `name` and `arguments` are stripped text (invalid UTF-8 becomes U+FFFD).
    """

    name: str
    arguments: str
    start: int
    end: int


class Scanner:
    """Incremental scanner of one row.

    `first_only` is the published protocol (operator transfer, section 4, faults F2 and F3): only the first `[`, `(` and
    `)` of the stream count, in this order, or there is no call until `reset`. A newline ends its segment.
    """

    def __init__(self, syntax: Syntax, first_only: bool = False) -> None:
        self._syntax = syntax
        self._reader: _Balanced | _FirstOnly = _FirstOnly(syntax) if first_only else _Balanced(syntax)
        self._hit = False

    def feed(self, data: bytes) -> Call | None:
        """Take the next bytes of the stream; the first call that closes in them, or None.

        Bytes beyond `Call.end` are the overhang; they are forgotten. After a call, feeding raises RuntimeError until
        `reset`.
        """
        if self._hit:
            raise RuntimeError("this scanner has found a call; reset it before feeding more")
        call = self._reader.feed(data)
        self._hit = call is not None
        return call

    def reset(self) -> None:
        """Forget everything; the next byte has offset 0."""
        self._reader.reset()
        self._hit = False


class _Balanced:
    """Header by regular expression over a short tail, arguments byte by byte."""

    def __init__(self, syntax: Syntax) -> None:
        opener, args_open = syntax.opener.encode(), syntax.args_open.encode()
        name = rb"([A-Za-z_][A-Za-z0-9_.-]{0,%d})" % (MAX_NAME - 1)
        self._header = re.compile(re.escape(opener) + name + re.escape(args_open))
        self._tail_size = len(opener) + MAX_NAME + len(args_open) - 1
        self._open, self._close = ord(syntax.args_open[-1]), ord(syntax.args_close)
        self.reset()

    def reset(self) -> None:
        self._read = 0
        self._tail = b""
        self._drop()

    def _drop(self) -> None:
        """No candidate is open."""
        self._name: bytes | None = None
        self._arguments = bytearray()
        self._start = self._depth = self._quote = 0
        self._escaped = False

    def feed(self, data: bytes) -> Call | None:
        at = 0
        while at < len(data):
            at = self._seek(data, at) if self._name is None else self._read_arguments(data, at)
            if self._name is not None and self._depth == 0:
                self._read += at
                return self._call(self._name)
        self._read += len(data)
        return None

    def _seek(self, data: bytes, at: int) -> int:
        """Look for a header in the tail and `data[at:]`; the position up to which data is used."""
        window = self._tail + data[at:]
        found = self._header.search(window)
        if found is None:
            self._tail = window[-self._tail_size :]
            return len(data)
        origin = at - len(self._tail)
        self._tail = b""
        self._name = found[1]
        self._start = self._read + origin + found.start()
        self._depth = 1
        return origin + found.end()

    def _read_arguments(self, data: bytes, at: int) -> int:
        """Read up to the closing mark, or up to the byte that ends the candidate."""
        for position in range(at, len(data)):
            byte = data[position]
            if self._depth_after(byte) == 0:
                return position + 1
            if byte == NEWLINE or len(self._arguments) == MAX_ARGUMENTS:
                self._drop()
                return position
            self._arguments.append(byte)
        return len(data)

    def _depth_after(self, byte: int) -> int:
        """Update quotes and parentheses for one byte of arguments; the depth it leaves."""
        if self._escaped:
            self._escaped = False
        elif self._quote:
            self._escaped = byte == BACKSLASH
            if byte == self._quote:
                self._quote = 0
        elif byte in QUOTES and not (self._arguments and self._arguments[-1] in WORD):
            self._quote = byte
        elif byte == self._open:
            self._depth += 1
        elif byte == self._close:
            self._depth -= 1
        return self._depth

    def _call(self, name: bytes) -> Call:
        return Call(_text(name), _text(bytes(self._arguments)), self._start, self._read)


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
