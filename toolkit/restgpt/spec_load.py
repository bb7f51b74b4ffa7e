"""Fetches the text of a description and parses it, JSON or YAML, within hard bounds.

A description is hostile input: too large, nested a million deep, a YAML alias bomb, or an HTML page. Each ends in one
clear UserError before memory or stack is at risk. Knows nothing of OpenAPI.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx2
import yaml

from toolkit.errors import UserError
from toolkit.restgpt.http_transport import Watchdog

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 100
MAX_NODES = 3_000_000
FETCH_SECONDS = 30.0
_CHUNK = 2**16
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CoreLoader(_LOADER):  # type: ignore[misc]
    """YAML 1.2 core scalars only: `NO` is Norway and not False, dates stay text, `<<` is a key like any other."""


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]{1,400}", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def _construct_int(loader: Any, node: Any) -> int:
    """Decimal always: YAML 1.1 would read `010` as octal and `1:30` as base 60."""
    return int(loader.construct_scalar(node))


def _construct_mapping(loader: Any, node: Any) -> dict[str, Any]:
    """A mapping whose keys are text: an unquoted `200:` under `responses` is the key "200"."""
    return {
        key.value: loader.construct_object(value, deep=True)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    }


_CoreLoader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_CoreLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def read_document(source: str) -> Any:
    """The parsed description at `source` (path or http(s) URL). Raises UserError."""
    raw = _fetch(source) if source.startswith(("http://", "https://")) else _read_file(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"not valid UTF-8 (byte {error.start})", source, "save the description as UTF-8") from None
    if not text.strip():
        raise UserError("the description is empty", source)
    document = _parse(text, source)
    check_bounds(document, source)
    return document


def _read_file(source: str) -> bytes:
    path = Path(source)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"larger than {MAX_BYTES // 2**20} MiB", source)
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserError(f"cannot be read: {reason}", source, "give the path or URL of an OpenAPI file") from None
    except ValueError as error:
        raise UserError(f"is not a path: {error}", repr(source)) from None


def _fetch(source: str) -> bytes:
    """Download with a total deadline and a size limit, however slowly the server sends."""
    deadline = time.monotonic() + FETCH_SECONDS
    watchdog = Watchdog(deadline)
    content = bytearray()
    try:
        with (
            httpx2.Client(follow_redirects=True, max_redirects=5, timeout=10.0) as client,
            watchdog.watching(),
            client.stream("GET", source, extensions={"trace": watchdog.trace}) as response,
        ):
            if response.status_code != 200:
                raise UserError(f"the server answered {response.status_code}", source, "check the URL")
            for chunk in response.iter_bytes(_CHUNK):
                content += chunk
                if len(content) > MAX_BYTES:
                    raise UserError(f"larger than {MAX_BYTES // 2**20} MiB", source)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if not watchdog.fired:
            raise UserError(f"cannot be fetched: {error or type(error).__name__}", source, "check the URL") from None
    if watchdog.fired:
        raise UserError(f"not received within {FETCH_SECONDS:g} s", source)
    return bytes(content)


def _parse(text: str, source: str) -> Any:
    json_error = None
    if text.lstrip()[0] in "{[":
        try:
            return json.loads(text)
        except RecursionError:
            raise UserError(f"nested deeper than {MAX_DEPTH} levels", source) from None
        except ValueError as error:
            json_error = error
    try:
        _scan_yaml(text, source)
        return yaml.load(text, Loader=_CoreLoader)  # a SafeLoader subclass
    except yaml.YAMLError as error:
        problem = json_error or getattr(error, "problem", None) or error
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark and not json_error else ""
        raise UserError(f"neither JSON nor YAML: {problem}{place}", source) from None
    except (RecursionError, ValueError) as error:
        raise UserError(f"neither JSON nor YAML: {error}", source) from None


def _scan_yaml(text: str, source: str) -> None:
    """Count depth and nodes, aliases expanded, from the event stream alone: nothing is built that could explode."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=_LOADER):
        size = 0
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((anchor, 1))
            if len(open_nodes) > MAX_DEPTH:
                raise UserError(f"nested deeper than {MAX_DEPTH} levels", source)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_nodes.pop()
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
        elif isinstance(event, yaml.AliasEvent):
            if anchor not in sizes:
                raise UserError(f"the alias *{anchor} contains itself or is undefined", source)
            size, anchor = sizes[anchor], None
        if anchor:
            sizes[anchor] = size
        if size > MAX_NODES:
            raise UserError(f"more than {MAX_NODES:,} values once its aliases are expanded", source)
        if open_nodes:
            above, sum_above = open_nodes[-1]
            open_nodes[-1] = (above, sum_above + size)


def check_bounds(document: Any, source: str) -> None:
    """Refuse what is too deep or too large to walk; shared parts count as often as they are used."""
    level = [document]
    nodes = 0
    for _ in range(MAX_DEPTH + 1):
        nodes += len(level)
        if nodes > MAX_NODES:
            raise UserError(f"more than {MAX_NODES:,} values", source)
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
        if not below:
            return
        level = below
    raise UserError(f"nested deeper than {MAX_DEPTH} levels", source)
