"""What stored data must look like: shapes written as data, and the first place where a value differs from its shape.

A shape is a type; a tuple of shapes, any of which will do; `[shape]`, a list of such; `{key: shape}`, an object that
has these keys and maybe others. Files of a run are damaged by hand, by disks and by other programs, and every reader
relies on this check instead of its own. Knows nothing of what the values mean.
"""

from __future__ import annotations

from typing import Any, Final

ABSENT: Final = object()
BIGGEST = 2**63  # what Parquet's and everyone's integers hold
NAMES: dict[type, str] = {
    str: "text",
    int: "a whole number of 64 bits",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    type(None): "null",
}


def fault(value: Any, shape: Any, place: str = "") -> str | None:
    """What is wrong with `value`, with the path to it; None when it has the shape."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{_at(place)}is not an object"
        for key, inner in shape.items():
            if (found := value.get(key, ABSENT)) is ABSENT:
                return f"{_at(place)}lacks {key!r}"
            if (wrong := fault(found, inner, f"{place}.{key}" if place else key)) is not None:
                return wrong
        return None
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{_at(place)}is not a list"
        found = (fault(inner, shape[0], f"{place}.{number}") for number, inner in enumerate(value))
        return next((wrong for wrong in found if wrong is not None), None)
    kinds = shape if isinstance(shape, tuple) else (shape,)
    if any(_is(value, kind) for kind in kinds):
        return None
    return f"{_at(place)}is not {' or '.join(NAMES[kind] for kind in kinds)}"


def _is(value: Any, kind: type) -> bool:
    if kind is int:
        return type(value) is int and -BIGGEST <= value < BIGGEST
    return type(value) is kind


def _at(place: str) -> str:
    return f"{place} " if place else "it "
