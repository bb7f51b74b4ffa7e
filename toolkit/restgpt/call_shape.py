"""The JSON schema of the Caller's answer for one endpoint: what constrained decoding and servers can enforce.

A flat extract of the description: names, simple types and enums one level deep. The full check is the HTTP client's.
Knows nothing of prompts.
"""

from __future__ import annotations

from typing import Any

from toolkit.restgpt.asking import prose
from toolkit.restgpt.call_text import path_pattern
from toolkit.restgpt.spec import Endpoint, Parameter, Spec

_SIMPLE = {"string", "integer", "number", "boolean"}
MOST_CHOICES = 60


def call_shape(spec: Spec, endpoint: Endpoint) -> dict[str, Any]:
    """Fields method, path, query, (headers, body) and output."""
    fields: dict[str, Any] = {
        "method": {"const": endpoint.method},
        "path": {"type": "string", "pattern": f"^{path_pattern(spec, endpoint)}$"},
        "query": _named(spec, endpoint.of_place("query")),
    }
    if headers := endpoint.of_place("header"):
        fields["headers"] = _named(spec, headers)
    if endpoint.body is not None:
        fields["body"] = _body(spec, endpoint.body.schema)
    fields["output"] = prose(300)
    required = [name for name in fields if name != "body"]
    if endpoint.body is not None and endpoint.body.required:
        required.append("body")
    return {"properties": fields, "required": required}


def _named(spec: Spec, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """An object of parameters, no others."""
    return {
        "type": "object",
        "properties": {each.name: _value(spec, each.schema) for each in parameters},
        "required": [each.name for each in parameters if each.required],
        "additionalProperties": False,
    }


def _value(spec: Spec, schema: Any) -> dict[str, Any]:
    """A value as far as it is simple; {} (anything) otherwise."""
    schema = spec.resolve(schema)
    choices = schema.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= MOST_CHOICES:
        return {"enum": choices}
    if schema.get("type") in _SIMPLE:
        return {"type": schema["type"]}
    if schema.get("type") == "array":
        return {"type": "array", "items": _value(spec, schema.get("items", {}))}
    return {}


def _body(spec: Spec, schema: Any) -> dict[str, Any]:
    """The body: its named properties when it is an object with some, else anything."""
    schema = spec.resolve(schema)
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return {}
    required = schema.get("required")
    names = [name for name in required if name in properties] if isinstance(required, list) else []
    shapes = {name: _value(spec, each) for name, each in properties.items()}
    return {"type": "object", "properties": shapes, "required": names, "additionalProperties": False}
