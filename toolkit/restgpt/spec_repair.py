"""Mends what is commonly wrong in real OpenAPI descriptions and says, one line each, what it did.

RestBench's Spotify description has 93 schema errors (`"required": "true"`, bounds written as text), TMDB's a stray key;
both are usable. Only spelling is mended here; what is missing or dangling is noted by `spec_build`. Knows nothing of
endpoints or HTTP.
"""

from __future__ import annotations

from typing import Any

from toolkit.errors import UserError

_BOOLEANS = {
    "required", "deprecated", "nullable", "readOnly", "writeOnly", "uniqueItems", "allowEmptyValue", "explode",
    "exclusiveMinimum", "exclusiveMaximum", "additionalProperties", "allowReserved",
}  # fmt: skip
_NUMBERS = {
    "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
    "maxProperties",
}  # fmt: skip
_TYPES = {
    "int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number", "double": "number",
    "decimal": "number", "bool": "boolean", "str": "string", "text": "string", "date": "string", "datetime": "string",
    "date-time": "string", "uuid": "string", "list": "array", "dict": "object", "map": "object", "json": "object",
}  # fmt: skip
_KNOWN_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null", "file"}
_NAME_MAPS = {
    "properties", "patternProperties", "$defs", "definitions", "schemas", "parameters", "responses", "headers",
    "requestBodies", "securitySchemes", "securityDefinitions", "paths", "pathItems", "content", "callbacks", "links",
    "variables", "mapping", "scopes", "encoding", "dependentRequired", "dependentSchemas", "webhooks",
}  # fmt: skip
_DATA = {"example", "examples", "default", "enum", "const", "x-examples"}
_OPERATION_KEYS = {
    "tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
    "callbacks", "deprecated", "security", "servers", "consumes", "produces", "schemes",
}  # fmt: skip
VERBS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def repair_document(document: Any, where: str) -> list[str]:
    """Mend `document` in place and return the notes. Raises UserError when it is no OpenAPI description at all."""
    _require_openapi(document, where)
    notes: list[str] = []
    for name, value in document.items():
        _repair(value, f"#/{name}", notes, names=name in _NAME_MAPS)
    _note_stray_keys(document["paths"], notes)
    return notes


def _require_openapi(document: Any, where: str) -> None:
    if not isinstance(document, dict):
        raise UserError("not an OpenAPI description: the top level is no mapping", where)
    version = document.get("openapi", document.get("swagger"))
    if version is None:
        raise UserError('not an OpenAPI description: neither "openapi" nor "swagger" at the top level', where)
    if not str(version).startswith(("2.", "3.")) and str(version) not in {"2", "3"}:
        raise UserError(f"OpenAPI version {version} is not supported", where, "use 2.0, 3.0 or 3.1")
    if not isinstance(document.get("paths"), dict) or not document["paths"]:
        raise UserError('the description has no "paths", so nothing can be called', where)


def _repair(node: Any, at: str, notes: list[str], names: bool) -> None:
    """Walk one subtree. `names`: the keys here are the author's names (of properties, of headers), not keywords."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            _repair(item, f"{at}/{index}", notes, names=False)
        return
    if not isinstance(node, dict):
        return
    for key in list(node):
        if not names:
            _repair_keyword(node, key, at, notes)
            if key in _DATA or key.startswith("x-"):
                continue
        below = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
        _repair(node.get(key), below, notes, names=not names and key in _NAME_MAPS and isinstance(node[key], dict))


def _repair_keyword(node: dict[str, Any], key: str, at: str, notes: list[str]) -> None:
    value = node[key]
    mended: Any = value
    if key in _BOOLEANS and isinstance(value, str):
        mended = {"true": True, "false": False}.get(value.strip().lower(), value)
    elif key in _NUMBERS and isinstance(value, str):
        mended = _number(value)
    elif key == "type" and isinstance(value, str) and value not in _KNOWN_TYPES:
        lower = value.strip().lower()
        mended = lower if lower in _KNOWN_TYPES else _TYPES.get(lower, value)
    elif key == "enum" and not isinstance(value, list):
        mended = [value]
    if mended is not value:
        node[key] = mended
        notes.append(f"{at}: {key} was {value!r}, read as {mended!r}")


def _number(text: str) -> int | float | str:
    """The number that `text` spells, or `text` itself."""
    try:
        return int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return text
        return number if abs(number) < 1e308 else text


def _note_stray_keys(paths: dict[str, Any], notes: list[str]) -> None:
    """Name keys that no operation has (TMDB's `cache`); they are ignored."""
    for path, item in paths.items():
        for verb in VERBS:
            operation = item.get(verb) if isinstance(item, dict) else None
            if not isinstance(operation, dict):
                continue
            notes.extend(
                f"{verb.upper()} {path}: ignored the unknown key {key!r}"
                for key in operation
                if key not in _OPERATION_KEYS and not key.startswith("x-")
            )
