"""A compiled prompt fragment: plugin examples cut into the same segments that the injector makes.

Token boundaries are forced exactly where the injector forces one, so a demonstration and a real call reach the model
as one consistent tokenisation. This file knows nothing of manifests or models; `Tokenizer` is all it asks for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

SegmentKind = Literal["user", "model", "call", "result", "rest"]


class Tokenizer(Protocol):
    """The one method of a Hugging Face tokenizer that is needed here."""

    def encode(self, text: str, *, add_special_tokens: bool = ...) -> list[int]:
        """Token ids of `text`."""
        ...


@dataclass(frozen=True)
class Segment:
    """A stretch of a fragment by one writer and with one meaning.

    `user` is the turn up to and including `<AI>`, `model` the answer up to a call, `call` is `[NAME(arguments)`,
    `result` is ` -> text]`, `rest` what follows a result up to the next call or the end of the line.
    """

    kind: SegmentKind
    text: str


@dataclass(frozen=True)
class Fragment:
    """Segments in order. Equal texts cut at other places are different fragments."""

    segments: tuple[Segment, ...] = ()

    @property
    def text(self) -> str:
        """The fragment as one string."""
        return "".join(segment.text for segment in self.segments)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over texts and cuts; the key under which records store the fragment."""
        body = "\x1f".join(f"{segment.kind}\x1e{segment.text}" for segment in self.segments)
        return hashlib.sha256(body.encode()).hexdigest()

    @property
    def pieces(self) -> tuple[str, ...]:
        """The texts that are tokenised by themselves: the segments, a call together with the text before it.

        A model writes up to the end of a call's arguments in one go (` [` is then mostly one token), so the injector
        forces a boundary after a call and after a result, and none before a call.
        """
        pieces: list[str] = []
        previous = ""
        for segment in self.segments:
            if segment.kind == "call" and previous in ("model", "rest"):
                pieces[-1] += segment.text
            else:
                pieces.append(segment.text)
            previous = segment.kind
        return tuple(pieces)

    def ids(self, tokenizer: Tokenizer) -> list[int]:
        """Token ids, piece by piece, without special tokens."""
        return [token for piece in self.pieces for token in tokenizer.encode(piece, add_special_tokens=False)]

    def __add__(self, other: Fragment) -> Fragment:
        return Fragment(self.segments + other.segments)


def join(fragments: Iterable[Fragment]) -> Fragment:
    """All fragments one after the other."""
    return Fragment(tuple(segment for fragment in fragments for segment in fragment.segments))
