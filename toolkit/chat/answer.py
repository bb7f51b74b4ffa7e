"""What a conversation is made of: settings, answers with their calls, and who wrote which part of the text.

Plain data and its streaming collector. Knows nothing of models, servers and terminals.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolkit.calls.syntax import Syntax
from toolkit.decoding.request import CallRecord, Finish
from toolkit.tools.outcome import Turn

OnText = Callable[[str, bool], None]  # a stretch of text, and whether the model wrote it (else a tool)


@dataclass(frozen=True)
class Settings:
    """How answers are written.

    `syntax` None is the one that the model's chat template shows, else the arrow. `tokens` bounds what the model writes
    in one answer, `calls` its calls, `seconds` its time. `temperature` None is greedy; `shots` is how many examples of
    each plugin go into the prompt (None: all). `constrain` lets a begun call only become one that exists.
    """

    syntax: Syntax | None = None
    tokens: int = 200
    calls: int = 8
    seconds: float = 300.0
    temperature: float | None = None
    seed: int = 0
    shots: int | None = None
    constrain: bool = False


@dataclass(frozen=True)
class Piece:
    """A stretch of an answer by one writer."""

    text: str
    by_model: bool


@dataclass(frozen=True)
class Answer:
    """One answer: the whole `text` with calls and results as they stand in it, and the same as `pieces`.

    `ids` and `source` (1 model-written, 0 injected) are its tokens; None where a server wrote it.
    """

    question: str
    text: str
    pieces: tuple[Piece, ...]
    calls: tuple[CallRecord, ...]
    finish: Finish
    ids: tuple[int, ...] | None = None
    source: tuple[int, ...] | None = None

    @property
    def said(self) -> str:
        """The text without calls and results: what a person is meant to read."""
        written = b"".join(piece.text.encode() for piece in self.pieces)
        keep = bytearray(b"".join(bytes([piece.by_model]) * len(piece.text.encode()) for piece in self.pieces))
        for call in self.calls:
            keep[call.start : call.end] = bytes(call.end - call.start)
        left = bytes(byte for byte, kept in zip(written, keep, strict=True) if kept)
        return re.sub(r" {2,}", " ", left.decode("utf-8", "replace")).strip()

    def record(self) -> dict[str, Any]:
        """JSON values: what `toolkit chat --json` prints."""
        calls = [
            {"name": call.name, "arguments": call.arguments, "status": call.outcome.status, "result": call.outcome.text}
            for call in self.calls
        ]
        pieces = [{"by": "model" if piece.by_model else "tool", "text": piece.text} for piece in self.pieces]
        record = {"question": self.question, "text": self.text, "said": self.said, "calls": calls, "pieces": pieces}
        return {**record, "finish": self.finish}


class Writer(Protocol):
    """Something that answers: a local model or a server."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def syntax(self) -> Syntax:
        """How it writes calls."""
        ...

    def answer(self, past: Sequence[Answer], question: str, on_text: OnText) -> Answer:
        """The answer to `question` after the exchanges of `past`; `on_text` sees it grow."""
        ...


class Pieces:
    """Collects a growing answer and passes it on, whole characters only."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._pieces: list[Piece] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.size = 0  # bytes taken

    def add(self, data: bytes, by_model: bool, final: bool = False) -> None:
        """Take the next bytes; `final` ends a stretch: what is left of a character is replaced."""
        self.size += len(data)
        text = self._decoder.decode(data, final)
        if not text:
            return
        self._on_text(text, by_model)
        if self._pieces and self._pieces[-1].by_model == by_model:
            text = self._pieces.pop().text + text
        self._pieces.append(Piece(text, by_model))

    def done(self) -> tuple[Piece, ...]:
        """All pieces."""
        self.add(b"", self._pieces[-1].by_model if self._pieces else True, final=True)
        return tuple(self._pieces)


def turns_of(past: Sequence[Answer]) -> tuple[Turn, ...]:
    """The exchanges as tools may see them."""
    return tuple(turn for one in past for turn in (Turn("user", one.question), Turn("assistant", one.said)))
