"""Cuts JSON down to a token budget by leaving out what matters least to a question; the result is always valid JSON.

The reference system cuts at a character and its parser never sees the deep fields. Here whole leaves are kept in order
of relevance, with their ancestors, and what was left out is said in place (`"...": "9 fields left out"`). Knows nothing
of OpenAPI or models; the caller brings the token counter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolkit.restgpt.relevance import Relevance

Count = Callable[[str], int]
Path = tuple[Any, ...]
Trie = dict[Any, Any]

LEFT_OUT = "..."
_MOST_LEAVES = 50_000
_CHARACTERS_PER_TOKEN = 24
_TEXT_LENGTHS = (400, 120, 40)
_TELLING = {"id": 0.6, "name": 0.6, "title": 0.6, "uri": 0.3, "total": 0.3, "count": 0.3, "date": 0.2, "type": 0.2}


def dump(value: Any) -> str:
    """JSON as prompts show it: one line, characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def largest_fit(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, by bisection; 0 is returned untried when nothing else fits."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def prune_json(value: Any, question: str, budget: int, count: Count) -> str:
    """`value` as JSON text of at most `budget` tokens, keeping what `question` is about.

    Only a budget too small for even an empty value is exceeded (by `{}`, `[]` or `""`).
    """

    def fits(text: str) -> bool:
        return len(text) <= budget * _CHARACTERS_PER_TOKEN and count(text) <= budget

    text = dump(value)
    if fits(text):
        return text
    for length in _TEXT_LENGTHS:
        value = _shortened(value, length)
        text = dump(value)
        if fits(text):
            return text
    ranked = _ranked(value, question)
    most = min(len(ranked), max(budget, 0))
    kept = largest_fit(most, lambda number: fits(dump(_restricted(value, _trie(ranked[:number])))))
    text = dump(_restricted(value, _trie(ranked[:kept])))
    return text if fits(text) else dump({} if isinstance(value, dict) else [] if isinstance(value, list) else "")


def _shortened(value: Any, length: int) -> Any:
    """`value` with every text cut to `length` characters."""
    if isinstance(value, str):
        return value if len(value) <= length else value[:length] + LEFT_OUT
    if isinstance(value, list):
        return [_shortened(item, length) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item, length) for key, item in value.items()}
    return value


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every scalar and empty container with its path, in document order."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def _ranked(value: Any, question: str) -> list[Path]:
    """The paths of all leaves, the most relevant first."""
    leaves: list[tuple[Path, Any]] = []
    for leaf in _leaves(value):
        leaves.append(leaf)
        if len(leaves) >= _MOST_LEAVES:
            break
    names = [" ".join(step for step in path if isinstance(step, str)) for path, _ in leaves]
    values = ["" if leaf is None or isinstance(leaf, (dict, list)) else str(leaf) for _, leaf in leaves]
    relevance = Relevance(question, (f"{name} {text}" for name, text in zip(names, values, strict=True)))
    name_scores = {name: relevance.score(name) for name in set(names)}
    value_scores = [relevance.score(text) for text in values]
    items = _item_scores([path for path, _ in leaves], value_scores)
    scores = [
        name_scores[name] + own + items.get(_item(path), 0.0) + _standing(path)
        for (path, _), name, own in zip(leaves, names, value_scores, strict=True)
    ]
    order = sorted(range(len(leaves)), key=lambda index: -scores[index])
    return [leaves[index][0] for index in order]


def _item(path: Path) -> Path:
    """The path of the innermost list item that a leaf belongs to; () outside lists."""
    for end in range(len(path), 0, -1):
        if isinstance(path[end - 1], int):
            return path[:end]
    return ()


def _item_scores(paths: Sequence[Path], scores: Sequence[float]) -> dict[Path, float]:
    """A list item is as relevant as its best value: the director's id belongs with `job: Director`."""
    best: dict[Path, float] = {}
    for path, score in zip(paths, scores, strict=True):
        item = _item(path)
        if item and score > best.get(item, 0.0):
            best[item] = score
    return best


def _standing(path: Path) -> float:
    """What a leaf is worth whatever the question: shallow, early in its list, an id or a name."""
    last = next((step for step in reversed(path) if isinstance(step, str)), "")
    partly = max((_TELLING.get(part, 0.0) for part in last.lower().split("_")), default=0.0)
    telling = _TELLING.get(last.lower(), partly / 3)
    late = sum(math.log2(1 + step) for step in path if isinstance(step, int))
    return telling - 0.2 * len(path) - 0.15 * late


def _trie(paths: Sequence[Path]) -> Trie:
    root: Trie = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault(step, {})
    return root


def _restricted(value: Any, kept: Trie) -> Any:
    """`value` with only the leaves in `kept`, saying in place how much is missing."""
    if isinstance(value, dict) and value:
        fields: dict[str, Any] = {key: _restricted(item, kept[key]) for key, item in value.items() if key in kept}
        missing = len(value) - len(fields)
        if missing:
            fields[LEFT_OUT] = f"{missing} field{'s' if missing > 1 else ''} left out"
        return fields
    if isinstance(value, list) and value:
        items = [_restricted(item, kept[index]) for index, item in enumerate(value) if index in kept]
        missing = len(value) - len(items)
        return [*items, f"{LEFT_OUT} {missing} more"] if missing else items
    return value
