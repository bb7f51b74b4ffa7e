"""Descriptions of the noise curve: exact sizes, nested, the core always there, clones apart from the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from experiments.restbench.noise import REALMS, with_endpoints
from experiments.restbench.scenario import Bench

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "restbench" / "noise.yaml"


@pytest.fixture
def noise() -> dict:
    return yaml.safe_load(CONFIG.read_text())


def test_sizes_are_exact_and_nested(folder: Path, noise: dict) -> None:
    bench, other = Bench("tmdb", folder), Bench("spotify", folder)
    core, smaller = noise["noise"]["core"], set()
    for size in noise["noise"]["endpoints"]:
        spec = with_endpoints(bench.spec, other.spec, core, size, 1)
        keys = [endpoint.key for endpoint in spec.endpoints]
        assert len(keys) == len(set(keys)) == size and set(core) | smaller <= set(keys)
        smaller = set(keys)
        clones = [endpoint for endpoint in spec.endpoints if endpoint.path.split("/")[1] in REALMS]
        assert len(clones) == max(0, size - 54)
        assert spec.match("GET", "/movie/603").key == "GET /movie/{movie_id}"
    assert (
        with_endpoints(bench.spec, other.spec, core, 20, 2).endpoints
        != with_endpoints(bench.spec, other.spec, core, 20, 1).endpoints
    )


def test_the_questions_need_the_core_alone(folder: Path, noise: dict) -> None:
    bench, tasks = Bench("tmdb", folder), noise["tasks"]["tmdb"]
    assert len(tasks) == 15 and len(noise["noise"]["core"]) == 10
    for index in tasks:
        assert set(bench.published_paths[index].steps) <= set(noise["noise"]["core"])


def test_clones_are_usable_descriptions(folder: Path) -> None:
    bench, other = Bench("tmdb", folder), Bench("spotify", folder)
    spec = with_endpoints(bench.spec, other.spec, [], 294, 1)
    clone = spec.match("GET", "/radio/search")
    assert "q" in {parameter.name for parameter in clone.parameters} and "(radio)" in clone.description
    assert not any("$ref" in str(parameter.schema) for parameter in clone.parameters)
