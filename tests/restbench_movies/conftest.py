"""Worlds, apps and a response validator for the tests of the film service."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from experiments.restbench.movies.app import MoviesApp
from experiments.restbench.movies.build import build
from experiments.restbench.movies.world import World
from experiments.restbench.service import Episode

Validate = Callable[[str, Any], None]


@pytest.fixture(scope="session")
def world() -> World:
    return build(1)


@pytest.fixture(scope="session")
def app(world: World) -> MoviesApp:
    return MoviesApp(world)


@pytest.fixture()
def episode(app: MoviesApp) -> Episode:
    return Episode(app, app.credentials)


@pytest.fixture(scope="session")
def validate(shared_data: Path) -> Validate:
    """(endpoint, body) -> None; fails unless the body is what the repaired description says of a 200."""
    document = json.loads((shared_data / "restbench" / "tmdb_oas.json").read_text(encoding="utf-8"))
    # The one repair of meaning: the list of a trending answer has no name in the description.
    trending = document["paths"]["/trending/{media_type}/{time_window}"]["get"]["responses"]["200"]
    for media in trending["content"].values():
        del media["schema"]["properties"][""]
        media["schema"]["properties"]["results"] = {"type": "array", "items": {"type": "object"}}
    validators = {path: _validator(document, item) for path, item in document["paths"].items()}

    def check(endpoint: str, body: Any) -> None:
        validators[endpoint.removeprefix("GET ")].validate(body)

    return check


def _validator(document: Any, item: Any) -> Any:
    """Draft 4 is what OpenAPI 3.0 is closest to; `nullable` becomes a null type, and no unknown key is let through."""
    (media,) = item["get"]["responses"]["200"]["content"].values()
    schema = copy.deepcopy(media["schema"])
    schema["components"] = copy.deepcopy(document["components"])
    for node in _nodes(schema):
        if node.get("nullable") is True and isinstance(node.get("type"), str):
            node["type"] = [node["type"], "null"]
    schema["required"] = list(schema["properties"])
    return jsonschema.Draft4Validator(schema)


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from _nodes(value)
