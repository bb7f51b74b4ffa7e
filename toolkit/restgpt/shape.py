"""Turns a schema into the shape of the JSON it describes: `{"id": "integer", "genres": [{"name": "string"}]}`.

A shape is far shorter than a schema, reads like the response itself, and is JSON, so that `prune` can cut it.
References are expanded within bounds; a schema inside itself is named instead of expanded. Knows nothing of prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolkit.restgpt.schema_check import schema_types
from toolkit.restgpt.text import first_sentence

Resolve = Callable[[Any], Any]
_MOST_NODES = 6000
_MAX_DEPTH = 40
_MOST_MERGES = 12
_MANY = 24


class Shaper:
    """Builds one shape. `describe` adds the first sentence of each description to its leaf."""

    def __init__(self, resolve: Resolve, describe: bool) -> None:
        self._resolve = resolve
        self._describe = describe
        self._left = _MOST_NODES

    def shape(self, schema: Any, above: tuple[str, ...] = ()) -> Any:
        """The shape of `schema`; `above` has the reference (or "") of each schema that encloses it."""
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        reference = reference if isinstance(reference, str) else ""
        if reference and reference in above:
            return f"{reference.rsplit('/', 1)[-1]} (as above)"
        above = (*above, reference)
        node = self._resolve(schema)
        self._left -= 1
        if not isinstance(node, Mapping):
            return "any"
        if self._left < 0 or len(above) > _MAX_DEPTH:
            return self._leaf(node)
        node = self._merged(node, above)
        if isinstance(node.get("properties"), Mapping) and node["properties"]:
            return {str(name): self.shape(field, above) for name, field in node["properties"].items()}
        if "items" in node:
            return [self.shape(node["items"], above)]
        if isinstance(node.get("additionalProperties"), Mapping) and "object" in schema_types(node):
            return {"<any key>": self.shape(node["additionalProperties"], above)}
        return self._leaf(node)

    def flat(self, schema: Any) -> Mapping[str, Any]:
        """`schema` resolved and with its alternatives laid over each other; {} when it is no mapping."""
        node = self._resolve(schema)
        return self._merged(node, ()) if isinstance(node, Mapping) else {}

    def _merged(self, node: Mapping[str, Any], above: tuple[str, ...], depth: int = 0) -> Mapping[str, Any]:
        """`node` with `allOf` parts and the alternatives of `anyOf`/`oneOf` laid over each other."""
        parts = [
            part for key in ("allOf", "anyOf", "oneOf") for part in node.get(key) or () if isinstance(part, Mapping)
        ]
        self._left -= len(parts)
        if not parts or depth > _MOST_MERGES or self._left < 0:
            return node
        merged: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        types: list[str] = []
        for part in [*parts, {key: value for key, value in node.items() if key not in ("allOf", "anyOf", "oneOf")}]:
            if part.get("$ref") in above:
                continue
            found = self._merged(self._resolve(part), above, depth + 1)
            properties.update(found.get("properties") or {})
            types += [kind for kind in schema_types(found) if kind not in types]
            merged.update(found)
        if properties:
            merged["properties"] = properties
        if types:
            merged["type"] = types
        return merged

    def _leaf(self, node: Mapping[str, Any]) -> str:
        types = [kind for kind in schema_types(node) if kind != "null"]
        choices = node.get("enum")
        text = " or ".join(types) or "any"
        if isinstance(choices, list) and choices:
            text = (
                "one of "
                + ", ".join(str(choice) for choice in choices[:_MANY])
                + (", ..." if len(choices) > _MANY else "")
            )
        elif isinstance(node.get("format"), str) and node["format"] in ("date", "date-time", "uri", "uuid"):
            text += f" ({node['format']})"
        sentence = first_sentence(str(node.get("description") or "")) if self._describe else ""
        return f"{text}: {sentence}" if sentence else text
