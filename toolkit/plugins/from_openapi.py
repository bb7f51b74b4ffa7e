"""Drafting a manifest from an OpenAPI description, with an example for each operation.

An operation whose body is the standard's own exchange (as `serve.py` describes it) keeps its address. Any other one
gets the address of an adapter that is still to be written, for REST services do not speak the standard. Texts that the
description does not give are left as a placeholder to be edited. Knows nothing of prompts or models.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import regex

from toolkit.calls.syntax import ARROW
from toolkit.errors import UserError
from toolkit.plugins.manifest import Manifest, validate
from toolkit.plugins.plugin import PLACEHOLDER
from toolkit.restgpt.spec import Endpoint, Parameter, Spec, load_spec
from toolkit.tools.safety import safe_result

MAX_APIS = 256
API_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
EDIT_ME = "EDIT ME"
SAMPLES = {"integer": "1", "number": "1.5", "boolean": "true"}
FORMATS = {"date": "2023-02-20", "date-time": "2023-02-20T12:00:00Z", "uuid": "123e4567-e89b-12d3-a456-426614174000"}
PATTERNS = {"integer": "-?[0-9]+", "boolean": "true|false"}


@dataclass(frozen=True)
class Draft:
    """A valid manifest and, one line each, what its author still has to do."""

    manifest: Manifest
    notes: tuple[str, ...]


def draft(source: str, base_url: str = PLACEHOLDER) -> Draft:
    """A manifest of the operations of an OpenAPI description (file or URL); at most 256 of them."""
    spec = load_spec(source)
    names = _names(spec, spec.endpoints[:MAX_APIS])
    apis = {name: _api(spec, name, endpoint, base_url.rstrip("/")) for name, endpoint in names.items()}
    if not apis:
        raise UserError("the description has no operations", source)
    value = {
        "plugin_api_version": 0,
        "name": spec.title[:100].strip() or EDIT_ME,
        "description": _line(spec.description, 500) or EDIT_ME,
        "apis": apis,
    }
    return Draft(validate(value, f"draft of {source}"), tuple(_notes(spec, apis, base_url)))


def _notes(spec: Spec, apis: Mapping[str, Mapping[str, Any]], base_url: str) -> Iterable[str]:
    foreign = [name for name, api in apis.items() if api["url"].startswith(base_url.rstrip("/"))]
    if foreign:
        yield f"{len(foreign)} APIs need an adapter at {base_url} that speaks the standard, {foreign[0]} among them"
    edits = json.dumps(apis).count(EDIT_ME)
    if edits:
        yield f"{edits} places say {EDIT_ME}"
    if len(spec.endpoints) > MAX_APIS:
        yield f"{len(spec.endpoints) - MAX_APIS} operations beyond the first {MAX_APIS} were left out"
    yield from spec.repairs


def _names(spec: Spec, endpoints: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """A distinct API name for each operation: the one its exchange names, else from its id or its verb and path."""
    names: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        exchange = _exchange(spec, endpoint)
        name = exchange[0] if exchange and API_NAME.fullmatch(exchange[0]) else _spoken(endpoint)
        unique = (
            name
            if name not in names
            else next(numbered for number in itertools.count(2) if (numbered := f"{name}_{number}") not in names)
        )
        names[unique] = endpoint
    return names


def _spoken(endpoint: Endpoint) -> str:
    """`getWeatherById` or `GET /weather/{id}` as `GET_WEATHER_BY_ID` or `GET_WEATHER_ID`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", endpoint.operation_id or endpoint.key)
    name = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").upper()[:56]
    return name if name[:1].isalpha() else f"API_{name}"


def _api(spec: Spec, name: str, endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    """One API with one example."""
    exchange = _exchange(spec, endpoint)
    if exchange is not None:
        url = _address(spec, endpoint) or f"{base_url}/api/{name}"
        return _entry(url, name, exchange[1], exchange[2], endpoint, None)
    inputs = [each for each in endpoint.parameters if each.place in ("path", "query") and each.required]
    inputs = inputs or [each for each in endpoint.parameters if each.place == "query"][:1]
    values = [_sample(spec, each) for each in inputs]
    pairs = ", ".join(f"{each.name}={value}" for each, value in zip(inputs, values, strict=True))
    arguments = values[0] if len(values) == 1 else pairs
    pattern = _pattern(spec, inputs[0]) if len(inputs) == 1 else None
    return _entry(f"{base_url}/api/{name}", name, arguments, _result(spec, endpoint), endpoint, pattern)


def _entry(url: str, name: str, arguments: str, result: str, endpoint: Endpoint, pattern: str | None) -> dict[str, Any]:
    asked = (_line(endpoint.summary or endpoint.description, 120) or f"{EDIT_ME} ({endpoint.key})").rstrip(".?")
    arguments = re.sub(r"[()\[\]'\"\\]", " ", arguments).strip()  # marks that could end the call early
    text = safe_result(result, ARROW, 120) or EDIT_ME
    question = f"{asked}?" if not arguments or arguments in asked else f"{asked}: {arguments}?"
    answer = f"It is [{name}({arguments}) -> {text}] {text}."
    entry = {"url": url, "arguments": bool(arguments), "history": 0, "examples": [[question, answer]]}
    fits = pattern is not None and regex.fullmatch(pattern, arguments) is not None
    return {**entry, "pattern": pattern} if fits else entry


def _exchange(spec: Spec, endpoint: Endpoint) -> tuple[str, str, str] | None:
    """(API, arguments, result) of the described example when the operation speaks the standard, else None."""
    properties = spec.resolve(endpoint.body.schema).get("properties", {}) if endpoint.body else {}
    if endpoint.method != "POST" or not {"api", "arguments", "history"} <= set(properties):
        return None
    operation = _operation(spec, endpoint)
    sent = _media_example(spec, operation.get("requestBody"))
    got = _media_example(spec, operation.get("responses", {}).get("200"))
    sent, got = (value if isinstance(value, dict) else {} for value in (sent, got))
    return str(sent.get("api", "")), str(sent.get("arguments", "")), str(got.get("result", ""))


def _operation(spec: Spec, endpoint: Endpoint) -> Mapping[str, Any]:
    paths = spec.document.get("paths", {})
    operation = spec.resolve(paths.get(endpoint.path, {})).get(endpoint.method.lower(), {})
    return operation if isinstance(operation, dict) else {}


def _media_example(spec: Spec, holder: Any) -> Any:
    """The example of the first media type of a body or an answer, or None."""
    content = spec.resolve(holder or {}).get("content")
    media = next(iter(content.values()), None) if isinstance(content, dict) else None
    if not isinstance(media, dict):
        return None
    named = media.get("examples")
    first = next(iter(named.values()), None) if isinstance(named, dict) else None
    return media.get("example", first.get("value") if isinstance(first, dict) else None)


def _result(spec: Spec, endpoint: Endpoint) -> str:
    """What the description gives as an answer, as one short text; empty when it gives none."""
    success = endpoint.success
    example = (
        _media_example(spec, _operation(spec, endpoint).get("responses", {}).get(success.status)) if success else None
    )
    if example is None and success is not None and success.schema is not None:
        example = spec.resolve(success.schema).get("example")
    if example is None:
        return ""
    return example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)


def _sample(spec: Spec, parameter: Parameter) -> str:
    """A value for a parameter: its example, default or first choice, or one of its type."""
    schema = spec.resolve(parameter.schema)
    many = [schema.get("examples"), schema.get("enum")]
    given = [
        schema.get("example"),
        schema.get("default"),
        *(each[0] for each in many if isinstance(each, list) and each),
    ]
    value = next((each for each in given if isinstance(each, str | int | float)), None)
    if value is not None:
        return _line(value if isinstance(value, str) else json.dumps(value), 80) or EDIT_ME
    kind = schema.get("type")
    return FORMATS.get(str(schema.get("format")), SAMPLES.get(str(kind), parameter.name))


def _pattern(spec: Spec, parameter: Parameter) -> str | None:
    """A pattern for a lone parameter with a fixed form: a number, a truth value, or one of a few texts."""
    schema = spec.resolve(parameter.schema)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(each, str) for each in choices):
        joined = "|".join(regex.escape(each, special_only=True) for each in choices)
        return joined if len(joined) <= 500 else None
    return PATTERNS.get(str(schema.get("type")))


def _line(text: str, limit: int) -> str:
    """Text on one line, without brackets and control characters, cut at `limit` characters."""
    return safe_result(text, ARROW, limit)


def _address(spec: Spec, endpoint: Endpoint) -> str | None:
    servers = endpoint.servers or spec.servers
    return f"{servers[0].url()}{endpoint.path}" if servers else None
