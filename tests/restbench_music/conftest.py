"""Worlds, apps and a response validator for the tests of the music service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from experiments.restbench.music.app import MusicApp
from experiments.restbench.music.build import build
from experiments.restbench.music.world import World
from experiments.restbench.service import Episode
from toolkit.restgpt.spec import load_spec

Validate = Callable[[str, int, Any], None]


@pytest.fixture(scope="session")
def world() -> World:
    return build(1)


@pytest.fixture()
def app(world: World) -> MusicApp:
    return MusicApp(world)


@pytest.fixture()
def episode(app: MusicApp) -> Episode:
    return Episode(app, app.credentials)


@pytest.fixture(scope="session")
def validate(shared_data: Path) -> Validate:
    """(endpoint, status, body) -> None; fails unless the body is what the repaired description says of the status."""
    spec = load_spec(shared_data / "restbench" / "spotify_oas.json")
    components = spec.resolve(spec.document["components"])
    for node in _nodes(components):
        if node.get("nullable") is True and isinstance(node.get("type"), str):
            node["type"] = [node["type"], "null"]
    validators: dict[tuple[str, int], Any] = {}
    for endpoint in spec.endpoints:
        for response in endpoint.responses:
            if response.is_success and response.schema is not None:
                schema = {**response.schema, "components": components}
                validators[endpoint.key, int(response.status)] = jsonschema.Draft4Validator(schema)
    bodyless = {
        (endpoint.key, int(response.status))
        for endpoint in spec.endpoints
        for response in endpoint.responses
        if response.is_success and response.schema is None
    }

    def check(endpoint: str, status: int, body: Any) -> None:
        if body is None:
            assert (endpoint, status) in bodyless, f"{endpoint} {status} must have a body"
        else:
            validators[endpoint, status].validate(body)

    return check


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from _nodes(value)
