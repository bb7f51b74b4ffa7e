"""One example of a plugin: reading its answer, and cutting the exchange into the injector's segments.

Examples are always authored in the arrow syntax, `[NAME(arguments) -> result]`, and can be rendered in any other. Calls
are found by the very scanner that watches a model. This file knows nothing of manifests or models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolkit.calls.scanner import Scanner
from toolkit.calls.syntax import ARROW, Syntax
from toolkit.errors import UserError
from toolkit.plugins.fragment import Fragment, Segment

GUEST, AI = "<Guest>", "<AI>"
FORM = "write [NAME(arguments) -> result]"
_LOOKS_LIKE_CALL = re.compile(r"\[\s*[A-Za-z_][A-Za-z0-9_.-]{0,63}\s*(?:\(|->)")


class ExampleFault(ValueError):
    """An answer holds a call that does not parse; the text says which."""


@dataclass(frozen=True)
class ExampleCall:
    """A call as an author wrote it. `result` is None for `[NAME(arguments)]`, a call without a result."""

    name: str
    arguments: str
    result: str | None


Piece = str | ExampleCall


def turn(question: str) -> str:
    """What stands before an answer: `<Guest> question`, a newline and `<AI>`, with no space after it."""
    return f"{GUEST} {question}\n{AI}"


def parse_answer(answer: str, names: Iterable[str] = ()) -> list[Piece]:
    """The answer as text and calls in order.

    `names` are API names that may not stand before a `(` outside of a call. Raises ExampleFault for a call that is
    begun but not well formed.
    """
    pieces: list[Piece] = []
    rest = answer.encode()
    scanner = Scanner(ARROW)
    while (found := scanner.feed(rest)) is not None:
        scanner.reset()
        pieces.append(rest[: found.start].decode())
        rest, result = _result(rest[found.end :], ARROW.call(found.name, found.arguments))
        pieces.append(ExampleCall(found.name, found.arguments, result))
    pieces.append(rest.decode())
    _refuse_strays([piece for piece in pieces if isinstance(piece, str)], names)
    return [piece for piece in pieces if piece]


def example_calls(answer: str) -> list[ExampleCall]:
    """The calls of an answer that parses, in order."""
    return [piece for piece in parse_answer(answer) if isinstance(piece, ExampleCall)]


def _result(after: bytes, call: str) -> tuple[bytes, str | None]:
    """What follows a call's result, and the result."""
    mark, closer = ARROW.result.encode(), ARROW.closer.encode()
    if after.startswith(closer):
        return after[len(closer) :], None
    text, closed, rest = after.removeprefix(mark).partition(closer)
    if not after.startswith(mark) or not closed:
        raise ExampleFault(f"the call {call} is not followed by ' -> result]'")
    if not text.strip():
        raise ExampleFault(f"the call {call} has an empty result")
    return rest, text.decode()


def _refuse_strays(texts: Iterable[str], names: Iterable[str]) -> None:
    """Refuse text that was meant as a call: `[MATH(1 + 2`, `[MATH -> 3]`, `MATH(1 + 2) -> 3]`."""
    known = "|".join(re.escape(name) for name in names)
    bare = re.compile(rf"(?<![A-Za-z0-9_.-])(?:{known})\(") if known else None
    for text in texts:
        stray = _LOOKS_LIKE_CALL.search(text) or (bare.search(text) if bare else None)
        if stray:
            raise ExampleFault(f"the call that starts with {text[stray.start() : stray.start() + 30]!r} does not parse")


def example_fragment(question: str, answer: str, syntax: Syntax = ARROW) -> Fragment:
    """One exchange in the turn format, its calls rendered in `syntax`. UserError when a call does not parse."""
    try:
        pieces = parse_answer(answer)
    except ExampleFault as fault:
        raise UserError(str(fault), f"example {answer[:60]!r}", FORM) from None
    segments = [Segment("user", turn(question))]
    before = " "
    for piece in pieces:
        if isinstance(piece, str):
            before += piece
            continue
        segments += _text(before, segments)
        segments.append(Segment("call", syntax.call(piece.name, piece.arguments)))
        written = syntax.silent() if piece.result is None else syntax.injection(piece.result)
        segments.append(Segment("result", written))
        before = ""
    segments += _text(before + "\n", segments)
    return Fragment(tuple(segments))


def _text(text: str, before: list[Segment]) -> list[Segment]:
    """Model-written text as a segment: `rest` once there was a call, `model` before."""
    kind = "rest" if before[-1].kind == "result" else "model"
    return [Segment(kind, text)] if text else []  # type: ignore[arg-type]
