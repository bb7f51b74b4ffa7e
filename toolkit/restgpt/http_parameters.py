"""Turns the parameter values of a call into the text that goes into path, query and headers, checking each first.

Models write `603` for "603" and "album,artist" for a list; what can mean only one thing is accepted, everything else
is a problem in words that a model can act on. Knows nothing of sockets or secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolkit.restgpt.schema_check import Resolve, schema_problems, schema_types
from toolkit.restgpt.spec_types import Parameter

_MAX_DEPTH = 4
_MOST_OPTIONS = 8
_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}


def read_value(value: Any, schema: Any, resolve: Resolve, depth: int = 0) -> Any:
    """`value` as the type that `schema` wants where its text can mean only that; otherwise unchanged."""
    schema = resolve(schema)
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return value
    types = schema_types(schema)
    if not types and (options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")):
        return _read_as_one_of(value, options, resolve, depth)
    if isinstance(value, str):
        return _read_string(value, schema, types, resolve)
    if types == ("string",) and isinstance(value, (int, float)):
        return written(value)
    if types == ("array",) and isinstance(value, (int, float)):
        return [read_value(value, schema.get("items"), resolve, depth + 1)]
    if isinstance(value, list) and "items" in schema:
        return [read_value(item, schema["items"], resolve, depth + 1) for item in value]
    return value


def _read_as_one_of(value: Any, options: Any, resolve: Resolve, depth: int) -> Any:
    """The first reading that fits an option (an optional number is often `anyOf` integer, null)."""
    for option in options[:_MOST_OPTIONS] if isinstance(options, list) else ():
        read = read_value(value, option, resolve, depth + 1)
        if not schema_problems(read, option, resolve):
            return read
    return value


def _read_string(value: str, schema: Mapping[str, Any], types: tuple[str, ...], resolve: Resolve) -> Any:
    choices = schema.get("enum")
    for choice in choices if isinstance(choices, list) else ():
        if written(choice) == value:
            return choice
    if "string" in types:
        return value
    for kind in types:
        read = _read_text(value, kind)
        if read is not None:
            return read
    return _read_list(value, schema.get("items"), resolve) if "array" in types else value


def _read_text(text: str, kind: str) -> int | float | bool | None:
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    try:
        if kind == "integer" and len(text) < 40:
            return int(text)
        if kind == "number" and len(text) < 40:
            number = float(text)
            return number if abs(number) < 1e308 else None
    except ValueError:
        pass
    return None


def _read_list(text: str, items: Any, resolve: Resolve) -> list[Any]:
    """A list written as text: JSON, or comma separated unless one item may itself hold the comma and all fit."""
    if text.startswith("["):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, list):
            return parsed
    parts = [read_value(part.strip(), items, resolve) for part in text.split(",")]
    return parts if not any(schema_problems(part, items, resolve) for part in parts) else [text]


def parameter_problems(value: Any, parameter: Parameter, resolve: Resolve) -> list[str]:
    """What is wrong with a value that `read_value` has read."""
    problems = schema_problems(value, parameter.schema, resolve, f"{parameter.place} parameter {parameter.name}")
    if parameter.place in ("header", "cookie") and any(character in written(value) for character in "\r\n\0"):
        problems.append(f"{parameter.place} parameter {parameter.name} must be one line")
    return problems


def written(value: Any) -> str:
    """A scalar as text (`true`, `null`-free); lists comma separated; mappings as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(written(item) for item in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def query_pairs(value: Any, parameter: Parameter) -> list[tuple[str, str]]:
    """The `name=value` pairs of one query parameter in its style."""
    name = parameter.name
    if isinstance(value, dict):
        if parameter.style == "deepObject":
            return [(f"{name}[{key}]", written(item)) for key, item in value.items()]
        return [(name, written(value))]
    if not isinstance(value, (list, tuple)):
        return [(name, written(value))]
    if parameter.style == "form" and parameter.explode:
        return [(name, written(item)) for item in value]
    return [(name, _SEPARATORS.get(parameter.style, ",").join(written(item) for item in value))]
