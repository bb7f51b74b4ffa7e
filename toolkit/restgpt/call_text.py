"""How a call is written in plans, `METHOD /path` with its parameters filled: patterns to write by, and reading it back.

The patterns are what constrained decoding enforces, so they allow known endpoints only and, where the description says
so, only digits or listed values in a path. Knows nothing of prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from toolkit.restgpt.asking import Unusable
from toolkit.restgpt.http_parameters import parameter_problems, read_value
from toolkit.restgpt.spec import Endpoint, Route, Spec

_SPECIAL = re.compile(r"[.\\+*?\[\](){}^$|]")
_FILLED = r"[^/{}<>?# \"\\]+"  # no \s: llama.cpp knows no such class
_KINDS = {"integer": "-?[0-9]+", "number": r"-?[0-9]+(\.[0-9]+)?", "boolean": "(true|false)"}


def calls_pattern(spec: Spec, endpoints: Iterable[Endpoint]) -> str:
    """A pattern for `METHOD /path` of any of the endpoints, filled; not anchored."""
    return f"({'|'.join(f'{endpoint.method} {path_pattern(spec, endpoint)}' for endpoint in endpoints)})"


def path_pattern(spec: Spec, endpoint: Endpoint) -> str:
    """A pattern for the endpoint's path with its parameters filled; not anchored."""
    values = {each.name: _value_pattern(spec.resolve(each.schema)) for each in endpoint.of_place("path")}
    parts = re.split(r"\{([^{}]*)\}", endpoint.path)
    return "".join(values.get(part, _FILLED) if index % 2 else _escape(part) for index, part in enumerate(parts))


def find_endpoint(spec: Spec, text: str) -> tuple[Route[Endpoint], str]:
    """The endpoint that `METHOD /path ...` means, and the path; open parameters are written `{name}` in it.

    Raises `Unusable` when the service has no such endpoint, or a value is not of its parameter's type.
    """
    verb, _, rest = text.strip("`*\"' ").partition(" ")
    written = rest.split()
    route = spec.route(verb, written[0]) if written else None
    if route is None:
        raise Unusable(f"there is no endpoint {text[:120]!r}; choose from the list")
    path = route.target.path
    parameters = {each.name: each for each in route.target.of_place("path")}
    for name, value in route.values.items():
        if name in route.unfilled:
            continue
        if name in parameters:
            read = read_value(value, parameters[name].schema, spec.resolve)
            if problems := parameter_problems(read, parameters[name], spec.resolve):
                raise Unusable(f"{text[:120]!r} means {route.target.key}, but {problems[0]}")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return route, path


def _value_pattern(schema: object) -> str:
    """A pattern for one path value."""
    if not isinstance(schema, dict):
        return _FILLED
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return f"({'|'.join(_escape(choice) for choice in choices)})"
    kind = schema.get("type")
    return _KINDS.get(kind, _FILLED) if isinstance(kind, str) else _FILLED


def _escape(text: str) -> str:
    """The text as a pattern, escaping what both Rust's and ECMAScript's expressions know as special."""
    return _SPECIAL.sub(r"\\\g<0>", text)
