"""Checks a call against the description and writes the request it means, before anything can leave.

Refuses what RestBench's reference sends: unknown endpoints, other servers, unfilled `{placeholders}`, missing or
unknown parameters, wrong types, a body where none belongs. The result holds no secret; those are added at the very
last moment by `http`. Knows nothing of sockets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from toolkit.restgpt.exchange import ErrorKind, RestCall
from toolkit.restgpt.http_parameters import parameter_problems, query_pairs, read_value, written
from toolkit.restgpt.schema_check import schema_problems
from toolkit.restgpt.spec_router import Route, is_placeholder
from toolkit.restgpt.spec_types import Body, Endpoint, Parameter, Place, Spec

_OURS = {"authorization", "accept", "content-type", "host", "cookie", "content-length", "transfer-encoding"}
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Prepared:
    """A checked request without its secrets: what `--dry-run` shows. `body` is the JSON data or text, as meant."""

    endpoint: Endpoint
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content: bytes = b""


@dataclass(frozen=True)
class Refusal:
    """Why a call may not be sent, in words for the model. `endpoint` is its key once that is known."""

    kind: ErrorKind
    message: str
    endpoint: str | None = None


def prepare(call: RestCall, spec: Spec, server: str) -> Prepared | Refusal:
    """Check `call` and write its request to `server` (a base URL)."""
    path, query = _split(call, server)
    route = spec.route(call.method, path)
    if route is None:
        return _unknown(call, path, spec)
    endpoint = route.target
    problems: list[str] = []
    filled = _filled_path(endpoint, route, call, spec, problems)
    pairs = _query(endpoint, query, spec, problems)
    headers = _headers(endpoint, call.headers, spec, problems)
    content = _content(endpoint.body, call.body, spec, problems)
    if problems:
        return Refusal("invalid_call", "; ".join(problems[:8]), endpoint.key)
    if endpoint.body is not None and call.body is not None:
        headers["Content-Type"] = endpoint.body.media_type
    url = server + filled + (f"?{urlencode(pairs, quote_via=quote)}" if pairs else "")
    return Prepared(endpoint, endpoint.method, url, headers, call.body, content)


def _split(call: RestCall, server: str) -> tuple[str, dict[str, Any]]:
    """The path without our server and without its query, and the query with what the path's query adds."""
    target = call.path.strip()
    if target == server or target.startswith((f"{server}/", f"{server}?")):
        target = target[len(server) :]
    path, _, tail = target.partition("?")
    query: dict[str, Any] = {}
    for name, value in parse_qsl(tail.split("#")[0], keep_blank_values=True):
        query[name] = [*_as_list(query[name]), value] if name in query else value
    return path or "/", {**query, **call.query}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _unknown(call: RestCall, path: str, spec: Spec) -> Refusal:
    try:
        parts = urlsplit(path)
    except ValueError:
        return Refusal("unknown_endpoint", f"{path[:200]!r} is not a URL or path")
    if parts.netloc:
        known = {urlsplit(each.url()).netloc.lower() for each in spec.servers}
        if parts.netloc.lower() not in known:
            return Refusal("foreign_server", f"{parts.netloc} is not a server of this service; use a path only")
    verbs = sorted({each.method for each in spec.endpoints if spec.match(each.method, path)})
    hint = f" (that path knows {', '.join(verbs)})" if verbs else ""
    return Refusal("unknown_endpoint", f"there is no endpoint {call.method.upper()} {path[:200]}{hint}")


def _filled_path(endpoint: Endpoint, route: Route[Endpoint], call: RestCall, spec: Spec, problems: list[str]) -> str:
    """The path with every parameter checked and percent-encoded: no value can leave its segment."""
    path = endpoint.path
    described = {each.name: each for each in endpoint.of_place("path")}
    given = {**route.values, **call.path_params}
    for name, value in given.items():
        parameter = described.get(name)
        if parameter is None:
            problems.append(f"unknown path parameter {name!r}{_known(endpoint, 'path')}")
            continue
        if value is None or is_placeholder(written(value)):
            problems.append(f"path parameter {name} is not filled")
            continue
        value = read_value(value, parameter.schema, spec.resolve)
        problems += parameter_problems(value, parameter, spec.resolve)
        text = written(value)
        if text in (".", ".."):
            problems.append(f"path parameter {name} may not be {text!r}")
        path = path.replace(f"{{{name}}}", quote(text, safe=""))
    return path


def _query(endpoint: Endpoint, query: Mapping[str, Any], spec: Spec, problems: list[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for parameter, value in _described(endpoint, "query", query, spec, problems):
        pairs += query_pairs(value, parameter)
    return pairs


def _headers(endpoint: Endpoint, given: Mapping[str, Any], spec: Spec, problems: list[str]) -> dict[str, str]:
    wanted = {name: value for name, value in given.items() if name.lower() not in _OURS}
    headers = {"Accept": "application/json, */*;q=0.5"}
    for parameter, value in _described(endpoint, "header", wanted, spec, problems):
        headers[parameter.name] = written(value)
    return headers


def _described(
    endpoint: Endpoint, place: Place, given: Mapping[str, Any], spec: Spec, problems: list[str]
) -> list[tuple[Parameter, Any]]:
    """The given values that are described, read and checked; unknown and missing ones become problems."""
    fold = str.lower if place == "header" else str
    described = {fold(each.name): each for each in endpoint.of_place(place) if fold(each.name) not in _OURS}
    secret = {scheme.field for scheme in spec.schemes.values() if scheme.place == place}
    found: list[tuple[Parameter, Any]] = []
    for name, value in given.items():
        parameter = described.pop(fold(name.removesuffix("[]")), None)
        if parameter is None and name in secret:
            problems.append(f"leave {name} out: the credential is added for you")
        elif parameter is None:
            problems.append(f"unknown {place} parameter {name!r}{_known(endpoint, place)}")
        elif value is None:
            described[fold(parameter.name)] = parameter
        else:
            value = read_value(value, parameter.schema, spec.resolve)
            problems += parameter_problems(value, parameter, spec.resolve)
            found.append((parameter, value))
    missing = [each.name for each in described.values() if each.required and each.name not in secret]
    problems += [f"{place} parameter {name} is required" for name in missing]
    return found


def _known(endpoint: Endpoint, place: Place) -> str:
    names = [each.name for each in endpoint.of_place(place)]
    return f" (known: {', '.join(names[:20])})" if names else " (it has none)"


def _content(body: Body | None, value: Any, spec: Spec, problems: list[str]) -> bytes:
    """The bytes of the body in its media type."""
    if body is None or value is None:
        if body is not None and body.required:
            problems.append("a request body is required")
        if body is None and value is not None:
            problems.append("this endpoint takes no request body")
        return b""
    problems += schema_problems(value, body.schema, spec.resolve, "body")
    if body.is_json:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (ValueError, TypeError, RecursionError) as error:
            problems.append(f"the body is not JSON: {error}")
            return b""
    if body.media_type == _FORM and isinstance(value, dict):
        pairs = [(name, written(item)) for name, each in value.items() for item in _as_list(each)]
        return urlencode(pairs).encode()
    if isinstance(value, str) and not body.media_type.startswith("multipart/"):
        return value.encode("utf-8", "replace")
    problems.append(f"a body of type {body.media_type} can only be given as text")
    return b""
