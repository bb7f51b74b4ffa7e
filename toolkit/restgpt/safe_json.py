"""Parses JSON that someone hostile or careless wrote into data that is safe to walk, print and store.

Bounded depth, finite numbers only (NaN and Infinity become None: missing), no lone surrogates, no number of a million
digits. Knows nothing of HTTP or models.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_DEPTH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str) -> Any:
    """The value that `text` spells. ValueError, one line, when it is not JSON or not safe."""
    try:
        value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    if json_depth(value, MAX_DEPTH) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return _without_surrogates(value) if _ESCAPED_SURROGATE.search(text) else value


def json_depth(value: Any, limit: int) -> int:
    """Levels of lists and mappings in `value` (a scalar has 0), counting no further than `limit` + 1."""
    level, depth = [value], 0
    while depth <= limit:
        below = [item for node in level if isinstance(node, list) for item in node]
        below += [item for node in level if isinstance(node, dict) for item in node.values()]
        if not any(isinstance(node, (dict, list)) for node in level):
            return depth
        level, depth = below, depth + 1
    return depth


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(item) for key, item in value.items()}
    return value
