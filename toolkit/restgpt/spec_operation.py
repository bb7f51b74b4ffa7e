"""Reads one operation: its parameters (path-item level merged in), body and responses, in any OpenAPI version.

In 2.0 a parameter is its own schema, `in: body` and `in: formData` parameters make the body, and a response holds its
schema directly; none of that is visible outside this file. Knows nothing of servers or security.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkit.restgpt.spec_refs import References
from toolkit.restgpt.spec_router import template_names
from toolkit.restgpt.spec_types import (
    JSON_MEDIA,
    Body,
    Endpoint,
    Parameter,
    Place,
    Response,
    Schema,
    is_json_media,
)

_PLACES: tuple[Place, ...] = ("path", "query", "header", "cookie")
_PARAMETER_ONLY = {"name", "in", "required", "description", "collectionFormat", "allowEmptyValue"}
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_COLLECTION_STYLE = {"multi": ("form", True), "ssv": ("spaceDelimited", False), "pipes": ("pipeDelimited", False)}


def text_of(node: Any, key: str) -> str:
    """`node[key]` as stripped text, "" when it is not there or is no scalar."""
    value = node.get(key) if isinstance(node, Mapping) else None
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


class OperationReader:
    """Reads the operations of one document; what it has to mend goes to `repairs`."""

    def __init__(self, document: Mapping[str, Any], references: References, repairs: list[str]) -> None:
        self._old = "swagger" in document
        self._consumes = document.get("consumes")
        self._produces = document.get("produces")
        self._resolve = references.resolve
        self._repairs = repairs

    def endpoint(self, path: str, verb: str, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Endpoint:
        """One endpoint, without security and servers."""
        at = f"{verb.upper()} {path}"
        entries = self._parameter_entries(item, operation, at)
        parameters = [self._parameter(entry, at) for entry in entries if entry["in"] in _PLACES]
        return Endpoint(
            method=verb.upper(),
            path=path,
            summary=text_of(operation, "summary") or text_of(item, "summary"),
            description=text_of(operation, "description") or text_of(item, "description"),
            parameters=tuple(self._fit_template(parameters, path, at)),
            body=self._old_body(entries, operation) if self._old else self._body(operation, at),
            responses=self._responses(operation, at),
            operation_id=text_of(operation, "operationId"),
        )

    def _parameter_entries(
        self, item: Mapping[str, Any], operation: Mapping[str, Any], at: str
    ) -> list[Mapping[str, Any]]:
        """Resolved parameter objects; the operation's replace the path item's of the same name and place."""
        merged: dict[tuple[str, str], Mapping[str, Any]] = {}
        for level in (item, operation):
            nodes = level.get("parameters")
            if nodes is not None and not isinstance(nodes, list):
                self._repairs.append(f"{at}: parameters are no list, ignored")
                continue
            seen: set[tuple[str, str]] = set()
            for node in nodes or []:
                entry = self._resolve(node)
                name, place = text_of(entry, "name"), text_of(entry, "in")
                if not name or place not in (*_PLACES, "body", "formData"):
                    self._repairs.append(f"{at}: a parameter without a name or a known place, ignored")
                    continue
                if (name, place) in seen:
                    self._repairs.append(f"{at}: parameter {name!r} ({place}) is there twice, the last one holds")
                seen.add((name, place))
                merged[name, place] = entry
        return list(merged.values())

    def _parameter(self, entry: Mapping[str, Any], at: str) -> Parameter:
        place: Place = entry["in"]
        required = entry.get("required") is True
        if place == "path" and not required:
            self._repairs.append(f"{at}: path parameter {entry['name']!r} is not marked required, read as required")
        plain = place in ("query", "cookie")
        style, explode = ("form", True) if plain else ("simple", False)
        if self._old:
            style, explode = _COLLECTION_STYLE.get(text_of(entry, "collectionFormat"), (style, False))
        else:
            style = text_of(entry, "style") or style
            explode = entry["explode"] if isinstance(entry.get("explode"), bool) else style in ("form", "deepObject")
        schema = self._parameter_schema(entry)
        return Parameter(
            name=text_of(entry, "name"),
            place=place,
            required=required or place == "path",
            schema=schema,
            description=text_of(entry, "description") or text_of(self._resolve(schema), "description"),
            style=style,
            explode=explode,
        )

    def _parameter_schema(self, entry: Mapping[str, Any]) -> Schema:
        """A parameter's schema: under `schema`, under `content`, or (2.0, and by mistake later) the entry itself."""
        schema = entry.get("schema")
        if isinstance(schema, Mapping):
            return schema
        content = entry.get("content")
        if isinstance(content, Mapping):
            for media in content.values():
                if isinstance(media, Mapping) and isinstance(media.get("schema"), Mapping):
                    return dict(media["schema"])
        return {key: value for key, value in entry.items() if key not in _PARAMETER_ONLY and key != "content"}

    def _fit_template(self, parameters: list[Parameter], path: str, at: str) -> list[Parameter]:
        """Path parameters must be exactly the names in the template: add the forgotten, drop the strangers."""
        names = list(dict.fromkeys(template_names(path)))
        declared = {parameter.name for parameter in parameters if parameter.place == "path"}
        for name in names:
            if name not in declared:
                self._repairs.append(f"{at}: path parameter {name!r} is not described, read as a required string")
                parameters.append(Parameter(name, "path", True, {"type": "string"}, style="simple", explode=False))
        strangers = declared - set(names)
        for name in sorted(strangers):
            self._repairs.append(f"{at}: path parameter {name!r} is not in the path, ignored")
        return [each for each in parameters if each.place != "path" or each.name not in strangers]

    def _body(self, operation: Mapping[str, Any], at: str) -> Body | None:
        node = self._resolve(operation.get("requestBody"))
        if not isinstance(node, Mapping) or not node:
            return None
        media_type, schema = self._content(node)
        if media_type is None:
            self._repairs.append(f"{at}: the request body has no content, read as any JSON")
        return Body(media_type or JSON_MEDIA, schema or {}, node.get("required") is True, text_of(node, "description"))

    def _content(self, node: Mapping[str, Any]) -> tuple[str | None, Schema | None]:
        """The best media type of a 3.x `content` (JSON first, then forms) and its schema."""
        content = node.get("content")
        if not isinstance(content, Mapping) or not content:
            return None, None
        kinds = list(content)
        chosen = next((kind for kind in kinds if is_json_media(kind)), None)
        chosen = chosen or next((kind for kind in kinds if kind in (_FORM, _MULTIPART)), kinds[0])
        media = content[chosen]
        schema = media.get("schema") if isinstance(media, Mapping) else None
        return chosen, schema if isinstance(schema, Mapping) else None

    def _old_body(self, entries: list[Mapping[str, Any]], operation: Mapping[str, Any]) -> Body | None:
        """2.0: the `in: body` parameter, or the `in: formData` parameters put together."""
        for entry in entries:
            if entry["in"] == "body":
                schema = entry.get("schema")
                media_type = self._old_media(operation, "consumes", self._consumes)
                return Body(
                    media_type or JSON_MEDIA,
                    schema if isinstance(schema, Mapping) else {},
                    entry.get("required") is True,
                    text_of(entry, "description"),
                )
        fields = [entry for entry in entries if entry["in"] == "formData"]
        if not fields:
            return None
        properties = {
            text_of(entry, "name"): {**self._parameter_schema(entry), "description": text_of(entry, "description")}
            for entry in fields
        }
        required = [text_of(entry, "name") for entry in fields if entry.get("required") is True]
        media = _MULTIPART if any(entry.get("type") == "file" for entry in fields) else _FORM
        return Body(media, {"type": "object", "properties": properties, "required": required}, bool(required))

    @staticmethod
    def _old_media(operation: Mapping[str, Any], key: str, inherited: Any) -> str | None:
        kinds = operation.get(key, inherited)
        kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
        return next((kind for kind in kinds if is_json_media(kind)), kinds[0] if kinds else None)

    def _responses(self, operation: Mapping[str, Any], at: str) -> tuple[Response, ...]:
        nodes = operation.get("responses")
        if not isinstance(nodes, Mapping) or not nodes:
            self._repairs.append(f"{at}: no responses are described")
            return ()
        return tuple(
            self._response(str(status), self._resolve(node), operation)
            for status, node in nodes.items()
            if not str(status).startswith("x-")
        )

    def _response(self, status: str, node: Any, operation: Mapping[str, Any]) -> Response:
        node = node if isinstance(node, Mapping) else {}
        if not self._old:
            media_type, schema = self._content(node)
        else:
            schema = node.get("schema") if isinstance(node.get("schema"), Mapping) else None
            media_type = self._old_media(operation, "produces", self._produces) or JSON_MEDIA if schema else None
        return Response(status.upper() if status[1:].upper() == "XX" else status, text_of(node, "description"),
                        media_type, schema)  # fmt: skip
