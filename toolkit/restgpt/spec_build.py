"""Turns a mended OpenAPI document (2.0, 3.0 or 3.1) into a `Spec`: its operations, servers and bad references.

What is missing or wrong is read in the most useful way and noted; a single broken operation never costs the others.
One operation is read by `spec_operation`, security by `spec_security`. Knows nothing of files or of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

from toolkit.errors import UserError
from toolkit.restgpt.spec_operation import OperationReader, text_of
from toolkit.restgpt.spec_refs import References
from toolkit.restgpt.spec_repair import VERBS
from toolkit.restgpt.spec_security import read_requirements, read_schemes
from toolkit.restgpt.spec_types import Endpoint, SecurityScheme, Server, Spec

_DATA = {"example", "examples", "default", "enum", "const"}


def build_spec(document: Mapping[str, Any], repairs: list[str], where: str) -> Spec:
    """Assemble the Spec, adding to `repairs`. Raises UserError when not one operation can be read."""
    references = References(document)
    repairs.extend(_bad_references(document, references))
    schemes = read_schemes(document, references, repairs)
    base = where if where.startswith(("http://", "https://")) else ""
    endpoints = _endpoints(document, references, schemes, base, repairs)
    if not endpoints:
        raise UserError("no operation in its paths can be read, so nothing can be called", where)
    if schemes and not any(endpoint.security for endpoint in endpoints) and "security" not in document:
        repairs.append("security schemes are defined but required nowhere: each is offered to every endpoint")
        offered = (*((name,) for name in schemes), ())
        endpoints = [replace(endpoint, security=offered) for endpoint in endpoints]
    info = document.get("info")
    return Spec(
        title=text_of(info, "title"),
        version=text_of(info, "version"),
        description=text_of(info, "description"),
        endpoints=tuple(endpoints),
        servers=_servers(document, base, repairs),
        schemes=schemes,
        repairs=repairs,
        document=document,
    )


def _endpoints(
    document: Mapping[str, Any],
    references: References,
    schemes: Mapping[str, SecurityScheme],
    base: str,
    repairs: list[str],
) -> list[Endpoint]:
    reader = OperationReader(document, references, repairs)
    inherited = read_requirements(document.get("security"), schemes, "#/security", repairs) or ()
    found: list[Endpoint] = []
    for path, verb, item, operation in _operations(document["paths"], references, repairs):
        own = read_requirements(operation.get("security"), schemes, f"{verb.upper()} {path}", repairs)
        servers = _server_list(operation.get("servers") or item.get("servers"), base, repairs)
        endpoint = reader.endpoint(path, verb, item, operation)
        found.append(replace(endpoint, security=inherited if own is None else own, servers=servers))
    return found


def _operations(
    paths: Mapping[str, Any], references: References, repairs: list[str]
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Every (path, verb, path item, operation), in the order written."""
    for written, node in paths.items():
        if written.startswith("x-"):
            continue
        item = references.resolve(node)
        if not isinstance(item, Mapping):
            repairs.append(f"path {written}: not a mapping, ignored")
            continue
        path = written.split("?")[0].strip()
        path = path if path.startswith("/") else f"/{path}"
        if path != written:
            repairs.append(f"path {written!r}: read as {path!r}")
        for verb in VERBS:
            operation = item.get(verb, item.get(verb.upper()))
            if isinstance(operation, Mapping):
                yield path, verb, item, operation
            elif operation is not None:
                repairs.append(f"{verb.upper()} {path}: not a mapping, ignored")


def _servers(document: Mapping[str, Any], base: str, repairs: list[str]) -> tuple[Server, ...]:
    """The description's servers; relative ones are resolved against the URL it was loaded from."""
    if "swagger" not in document:
        return _server_list(document.get("servers"), base, repairs) or ((Server(urljoin(base, "/")),) if base else ())
    path = text_of(document, "basePath")
    host = text_of(document, "host")
    if not host:
        return (Server(urljoin(base, path or "/")),) if base else ()
    schemes = document.get("schemes")
    names = [name for name in schemes if name in ("https", "http")] if isinstance(schemes, list) else []
    return tuple(Server(f"{name}://{host}{path}") for name in sorted(names or ["https"], reverse=True))


def _server_list(node: Any, base: str, repairs: list[str]) -> tuple[Server, ...]:
    if not isinstance(node, list):
        return ()
    found: list[Server] = []
    for entry in node:
        url = text_of(entry, "url")
        absolute = urljoin(base, url) if base and "{" not in url.split("/")[0] else url
        variables = entry.get("variables") if isinstance(entry, Mapping) else None
        defaults: dict[str, str] = {}
        choices: dict[str, tuple[str, ...]] = {}
        for name, variable in variables.items() if isinstance(variables, Mapping) else ():
            if isinstance(variable, Mapping):
                allowed = variable.get("enum")
                choices[name] = tuple(str(value) for value in allowed) if isinstance(allowed, list) else ()
                defaults[name] = str(variable.get("default", choices[name][0] if choices[name] else ""))
        server = Server(absolute, defaults, {name: allowed for name, allowed in choices.items() if allowed})
        if server.url().startswith(("http://", "https://")):
            found.append(server)
        else:
            repairs.append(f"server {url!r}: no absolute http(s) URL, ignored")
    return tuple(found)


def _bad_references(document: Mapping[str, Any], references: References) -> list[str]:
    """One note for each distinct reference that is remote or dangling, or a chain that only leads to itself."""
    notes: dict[str, str] = {}
    pending: list[Any] = [document]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        if not isinstance(node, Mapping):
            continue
        pending.extend(value for key, value in node.items() if key not in _DATA and not key.startswith("x-"))
        reference = node.get("$ref")
        if isinstance(reference, str) and reference not in notes:
            problem = _reference_problem(reference, references)
            if problem:
                notes[reference] = f"$ref {reference!r}: {problem}, read as anything"
    return sorted(notes.values())


def _reference_problem(reference: str, references: References) -> str | None:
    seen: set[str] = set()
    while True:
        if not reference.startswith("#"):
            return "leads to another document, which is never fetched"
        if reference in seen:
            return "leads only to itself"
        seen.add(reference)
        try:
            node = references.lookup(reference)
        except KeyError:
            return "points nowhere"
        if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
            return None
        reference = node["$ref"]
