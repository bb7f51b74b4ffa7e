"""How much a short text has to do with a question: shared word beginnings, rare ones counting more.

A stand-in for BM25 that needs no index: the texts are field names, values and endpoint lines, a few words each. Knows
nothing of JSON or OpenAPI.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W_]+")
_STEM = 5
_LONGEST = 400
_STOP = frozenset(
    _WORD.findall(
        "a about all also am an and any are as at be by can could did do does for from get give had has have her him "
        "his how i in into is it its list make me my of on or our please show so some tell than that the their them "
        "then there they this to use was we were what when where which who whom will with would you your"
    )
)


def stems(text: str) -> set[str]:
    """The distinct word beginnings of `text`: `movieId`, `movie_id` and "movies" share one. Reads 400 characters."""
    found = set()
    for word in _WORD.findall(text[:_LONGEST]):
        lower = word.lower()
        if lower not in _STOP:
            found.add(lower[:_STEM] if len(lower) > _STEM else lower.removesuffix("s") if len(lower) > 3 else lower)
    return found


class Relevance:
    """Scores texts against one question; `texts` is the collection in which a word is rare or common."""

    def __init__(self, question: str, texts: Iterable[str]) -> None:
        wanted = stems(question)
        seen: Counter[str] = Counter()
        total = 0
        for text in texts:
            total += 1
            seen.update(wanted & stems(text))
        self._weights = {stem: math.log(1 + total / (1 + seen[stem])) for stem in wanted}

    def score(self, text: str) -> float:
        """0 when nothing is shared; each shared stem adds its rarity."""
        return sum(self._weights.get(stem, 0.0) for stem in stems(text)) if self._weights else 0.0
