"""Checks a value against an OpenAPI schema, leniently in what it understands and strictly in what it says.

Only what a caller can get wrong and we can be sure of: types, enums, bounds, required and unknown properties, items,
`allOf`/`anyOf`/`oneOf`. `pattern` and `format` are left to the server (a hostile pattern could hang us). References
are followed lazily, so recursive schemas are fine. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Resolve = Callable[[Any], Any]
_MAX_DEPTH = 60
_MOST_STEPS = 20_000
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
    "file": (str,),
}


def schema_types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types a resolved schema allows; empty means any. Guessed from its keywords when it states none."""
    stated = schema.get("type")
    several = stated if isinstance(stated, list) else []
    types = [stated] if isinstance(stated, str) else [each for each in several if isinstance(each, str)]
    if not types:
        types = ["object"] if "properties" in schema else ["array"] if "items" in schema else []
    elif schema.get("nullable") is True and "null" not in types:
        types.append("null")
    return tuple(types)


def schema_problems(value: Any, schema: Any, resolve: Resolve, at: str = "") -> list[str]:
    """What is wrong with `value`, one line each, naming the place; empty when nothing is. `at` is its name.

    A schema so entangled that checking would not end is checked as far as 20,000 steps go.
    """
    return _Check(resolve).problems(value, schema, at, 0)


def _is_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in _PYTHON_TYPES or isinstance(value, _PYTHON_TYPES[kind])


def _own_problems(value: Any, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    """Enum, const and bounds of this level."""
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{name} must be one of {_listed(choices)}, not {_shown(value)}"
    if "const" in schema and value != schema["const"]:
        yield f"{name} must be {_shown(schema['const'])}, not {_shown(value)}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = _number(schema, "minimum"), _number(schema, "maximum")
        if low is not None and value < low:
            yield f"{name} must be at least {low}, not {value}"
        if high is not None and value > high:
            yield f"{name} must be at most {high}, not {value}"
    if isinstance(value, (str, list)):
        kind, unit = ("Length", "characters") if isinstance(value, str) else ("Items", "items")
        low, high = _number(schema, f"min{kind}"), _number(schema, f"max{kind}")
        if low is not None and len(value) < low:
            yield f"{name} must have at least {low} {unit}, not {len(value)}"
        if high is not None and len(value) > high:
            yield f"{name} must have at most {high} {unit}, not {len(value)}"


def _number(schema: Mapping[str, Any], key: str) -> int | float | None:
    value = schema.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


class _Check:
    """One bounded walk over a value and its schema."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._left = _MOST_STEPS

    def problems(self, value: Any, schema: Any, at: str, depth: int) -> list[str]:
        schema = self._resolve(schema)
        self._left -= 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._left < 0:
            return []
        name = at or "the value"
        types = schema_types(schema)
        if value is None and (not types or "null" in types):
            return []
        if types and not any(_is_type(value, each) for each in types):
            return [f"{name} must be {' or '.join(types)}, not {_shown(value)}"]
        problems = list(_own_problems(value, schema, name))
        if isinstance(value, dict):
            problems += self._of_object(value, schema, at, depth)
        elif isinstance(value, (list, tuple)) and "items" in schema:
            for index, item in enumerate(value):
                problems += self.problems(item, schema["items"], f"{at}[{index}]", depth + 1)
        return problems + self._of_combination(value, schema, at, depth)

    def _of_object(self, value: dict[str, Any], schema: Mapping[str, Any], at: str, depth: int) -> list[str]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        problems: list[str] = []
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if not isinstance(name, str):
                continue
            field = self._resolve(properties.get(name))
            if name not in value and not (isinstance(field, Mapping) and field.get("readOnly") is True):
                problems.append(f"{_join(at, name)} is required")
        extra = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in properties:
                problems += self.problems(item, properties[name], _join(at, name), depth + 1)
            elif extra is False and "patternProperties" not in schema:
                known = f" (known: {_listed(list(properties))})" if properties else ""
                problems.append(f"{_join(at, name)} is not a known property{known}")
            elif isinstance(extra, Mapping):
                problems += self.problems(item, extra, _join(at, name), depth + 1)
        return problems

    def _of_combination(self, value: Any, schema: Mapping[str, Any], at: str, depth: int) -> list[str]:
        """`allOf` adds up; of `anyOf` and `oneOf` at least one must fit (which one is the server's business)."""
        problems: list[str] = []
        every = schema.get("allOf")
        for part in every if isinstance(every, list) else ():
            problems += self.problems(value, part, at, depth + 1)
        for key in ("anyOf", "oneOf"):
            options = schema.get(key)
            if isinstance(options, list) and options:
                tried = [self.problems(value, option, at, depth + 1) for option in options]
                if all(tried):
                    closest: list[str] = min(tried, key=len)
                    problems += closest
        return problems


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _listed(values: list[Any]) -> str:
    shown = ", ".join(str(value) for value in values[:12])
    return f"{shown}, ..." if len(values) > 12 else shown
