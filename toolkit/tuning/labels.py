"""Token ids and labels of an exchange: loss on what the model itself writes, on nothing else.

Pieces are tokenised one by one exactly as the interceptor cuts them, and labels are where its source mask is 1: neither
the question nor an injected result is ever learned. Knows fragments and one method of a tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolkit.calls.syntax import ARROW, Syntax
from toolkit.plugins.examples import example_fragment
from toolkit.plugins.fragment import Fragment, Tokenizer

IGNORED = -100  # the label that cross entropy leaves out, as in transformers


@dataclass(frozen=True)
class Labelled:
    """Token `ids` of an exchange and `labels` of the same length: the id itself, or `IGNORED`."""

    ids: list[int]
    labels: list[int]


def label(fragment: Fragment, tokenizer: Tokenizer) -> Labelled:
    """Ids and labels of a fragment, piece by piece; `user` and `result` segments are ignored."""
    ids: list[int] = []
    labels: list[int] = []
    for kind, piece in zip(_kinds(fragment), fragment.pieces, strict=True):
        tokens = tokenizer.encode(piece, add_special_tokens=False)
        ids += tokens
        labels += [IGNORED] * len(tokens) if kind in ("user", "result") else tokens
    return Labelled(ids, labels)


def _kinds(fragment: Fragment) -> list[str]:
    """The kind of each piece: of its first segment, for a call is one piece with the text before it."""
    kinds: list[str] = []
    previous = ""
    for segment in fragment.segments:
        if not (segment.kind == "call" and previous in ("model", "rest")):
            kinds.append(segment.kind)
        previous = segment.kind
    return kinds


def label_exchange(question: str, answer: str, tokenizer: Tokenizer, syntax: Syntax = ARROW) -> Labelled:
    """Ids and labels of one exchange, the answer written in the arrow syntax."""
    return label(example_fragment(question, answer, syntax), tokenizer)
