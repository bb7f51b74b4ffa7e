"""Reading a manifest text that is JSON, or the looser writing that the standard's first document used.

Tolerated and noted as warnings: unquoted keys, trailing commas, and an object written as a list of `"NAME": value`
entries. Everything else follows JSON, without NaN, infinities and repeated keys. The parser is written by hand for
the positions it keeps and the bounds it sets (size, depth, number of values): texts are hostile. It knows nothing of
what a manifest holds.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from toolkit.plugins.faults import Fault, Path, quote

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 50_000

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,4})?(?![0-9A-Za-z_.])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_WORDS = {"true": True, "false": False, "null": None}


@dataclass
class Document:
    """A parsed text. `complete` is False after a syntax error; `places` gives line and column of values and keys."""

    value: Any = None
    complete: bool = False
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def locate(self, fault: Fault) -> Fault:
        """The same fault with line and column of its path, or of the nearest enclosing value that was read."""
        path = fault.path
        while path not in self.keys and path not in self.places and path:
            path = path[:-1]
        spots = (self.places, self.keys) if fault.path in self.places else (self.keys, self.places)
        line, column = spots[0].get(path) or spots[1].get(path) or (1, 1)
        return Fault(fault.message, fault.path, line, column, fault.fix, fault.level)


class _Stop(Exception):
    """Reading cannot go on; the fault is already noted."""


class _Reader:
    """One pass over a text. `at` is the offset of the next character, `path` where in the document that is."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.path: list[str | int] = []
        self.lines = [0] + [match.end() for match in re.finditer("\n", text)]
        self.document = Document()
        self.values = 0

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 1."""
        line = bisect_right(self.lines, offset)
        return line, offset - self.lines[line - 1] + 1

    def note(self, message: str, offset: int, fix: str, *, warning: bool = False) -> None:
        """Add a fault at an offset."""
        line, column = self.place(offset)
        level = "warning" if warning else "error"
        self.document.faults.append(Fault(message, tuple(self.path), line, column, fix, level))  # type: ignore[arg-type]

    def stop(self, message: str, fix: str, offset: int | None = None) -> _Stop:
        """Note a fault after which nothing more can be read."""
        self.note(message, self.at if offset is None else offset, fix)
        return _Stop()

    def skip(self) -> str:
        """Go past white space; the next character, or an empty string at the end."""
        match = _SPACE.match(self.text, self.at)
        assert match
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """Read any value."""
        head = self.skip()
        self.values += 1
        if self.values > MAX_VALUES:
            raise self.stop(f"more than {MAX_VALUES} values", "split the plugin")
        if len(self.path) > MAX_DEPTH:
            raise self.stop(f"nested deeper than {MAX_DEPTH} levels", "a manifest needs five levels")
        self.document.places[tuple(self.path)] = self.place(self.at)
        if head == "{":
            return self.entries("{", "}")
        if head == "[":
            return self.entries("[", "]") if self.keyed_list() else self.items()
        if head == '"':
            return self.string()
        if match := _NUMBER.match(self.text, self.at):
            return self.number(match)
        return self.word()

    def number(self, match: re.Match[str]) -> int | float:
        """A JSON number that is finite."""
        written = match.group()
        result: int | float = float(written) if set(written) & set(".eE") else int(written)
        if not math.isfinite(result):
            raise self.stop("the number is too large", "write a smaller number")
        self.at = match.end()
        return result

    def word(self) -> bool | None:
        """`true`, `false` or `null`."""
        match = _WORD.match(self.text, self.at)
        if match and match.group() in _WORDS:
            self.at = match.end()
            return _WORDS[match.group()]
        if not self.text[self.at : self.at + 1]:
            raise self.stop("the text ends where a value is expected", "close every bracket")
        shown = match.group() if match else self.text[self.at]
        raise self.stop(f"{quote(shown)} is not a value", 'write text in "double quotes"')

    def string(self) -> str:
        """A string in double quotes with JSON escapes."""
        match = _STRING.match(self.text, self.at)
        if not match:
            raise self.stop("the string is not closed on its line", r'end it with " and write a line break as \n')
        try:
            result = json.loads(match.group())
            result.encode()
        except json.JSONDecodeError:
            raise self.stop(
                "the string has a wrong escape", r"after \ JSON knows only \" \\ / b f n r t uXXXX"
            ) from None
        except UnicodeEncodeError:
            raise self.stop("the string has half a surrogate pair", "write the character itself") from None
        self.at = match.end()
        return str(result)

    def key(self) -> str:
        """A key, quoted or not, and its colon."""
        head, start = self.skip(), self.at
        if head == '"':
            name = self.string()
        elif match := _WORD.match(self.text, self.at):
            name, self.at = match.group(), match.end()
            self.note(f"the key {name} has no quotes", start, f'write "{name}"', warning=True)
        else:
            raise self.stop(
                f"{quote(head)} where a key is expected" if head else "the text ends inside an object",
                'write "name": value',
            )
        if self.skip() != ":":
            raise self.stop(f"no colon after the key {quote(name)}", 'write "name": value')
        self.at += 1
        return name

    def keyed_list(self) -> bool:
        """Whether the list that starts here holds `"NAME": value` entries."""
        spot = _SPACE.match(self.text, self.at + 1)
        assert spot
        key = _STRING.match(self.text, spot.end()) or _WORD.match(self.text, spot.end())
        after = _SPACE.match(self.text, key.end()) if key else None
        return after is not None and self.text[after.end() : after.end() + 1] == ":"

    def entries(self, opener: str, closer: str) -> dict[str, Any]:
        """`{...}`, or a list of keyed entries. A repeated key is an error; the first one stays."""
        if opener == "[":
            self.note("a list holds named entries", self.at, "write them in {} instead of []", warning=True)
        self.at += 1
        result: dict[str, Any] = {}
        while not self.closed(closer):
            self.skip()
            start = self.at
            name = self.key()
            self.path.append(name)
            if repeated := name in result:
                self.note(f"{quote(name)} occurs twice", start, "keep one of them or rename it")
            else:
                self.document.keys[tuple(self.path)] = self.place(start)
            value = self.value()
            if not repeated:
                result[name] = value
            self.path.pop()
            self.comma(closer)
        return result

    def items(self) -> list[Any]:
        """`[...]`."""
        self.at += 1
        result: list[Any] = []
        while not self.closed("]"):
            self.path.append(len(result))
            result.append(self.value())
            self.path.pop()
            self.comma("]")
        return result

    def closed(self, closer: str) -> bool:
        """Go past the closing bracket if it is next."""
        if self.skip() != closer:
            return False
        self.at += 1
        return True

    def comma(self, closer: str) -> None:
        """Go past a comma; none is needed before the closing bracket, and one there is only a warning."""
        head = self.skip()
        if head == closer:
            return
        if head != ",":
            shown = f"found {quote(head)}" if head else "the text ends"
            raise self.stop(f"expected ',' or '{closer}', {shown}", "check commas and brackets before this place")
        start = self.at
        self.at += 1
        if self.skip() == closer:
            self.note("a comma before a closing bracket", start, "remove it", warning=True)


def parse(text: str) -> Document:
    """Read a text; mistakes are in the document's `faults`, never raised."""
    reader = _Reader(text.removeprefix("\ufeff"))
    try:
        if len(text) > MAX_CHARACTERS:
            raise reader.stop(f"longer than {MAX_CHARACTERS} characters", "split the plugin")
        value = reader.value()
        if reader.skip():
            raise reader.stop("text after the end of the document", "remove it")
        reader.document.value, reader.document.complete = value, True
    except _Stop:
        pass
    return reader.document
