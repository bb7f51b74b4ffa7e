"""The simulated film service from outside: every endpoint conforms, errors are the service's, nothing else leaks."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.restbench.data import spec_file
from experiments.restbench.movies.app import MoviesApp
from experiments.restbench.movies.build import build
from experiments.restbench.movies.handlers import HANDLERS
from experiments.restbench.movies.world import World
from experiments.restbench.service import Episode
from toolkit.restgpt.spec import load_spec


def values(world: World, rng: Random) -> dict[str, Any]:
    """Path parameters that exist."""
    show = rng.choice(list(world.shows.values()))
    season = rng.choice(show.seasons)
    return {
        "movie_id": rng.choice(list(world.movies)),
        "tv_id": show.id,
        "season_number": season.number,
        "episode_number": rng.choice(season.episodes).number,
        "person_id": rng.choice(list(world.people)),
        "company_id": rng.choice(list(world.companies)),
        "network_id": rng.choice(list(world.networks)),
        "collection_id": rng.choice(list(world.collections)),
        "review_id": rng.choice(list(world.reviews)),
        "credit_id": rng.choice(list(world.credits)),
        "media_type": rng.choice(["all", "movie", "tv", "person"]),
        "time_window": rng.choice(["day", "week"]),
    }


def test_serves_exactly_the_described_endpoints(shared_data: Path, app: MoviesApp) -> None:
    spec = load_spec(spec_file(shared_data / "restbench", "tmdb"))
    assert sorted(app.endpoints) == sorted(endpoint.key for endpoint in spec.endpoints)
    assert spec.servers[0].url() == app.base


@pytest.mark.parametrize("template", list(HANDLERS))
def test_every_success_conforms(template: str, world: World, app: MoviesApp, validate: Any) -> None:
    rng = Random(template)
    for _ in range(6):
        path = template.format(**values(world, rng))
        reply = app.handle("GET", path, {"query": rng.choice(["the", "Titanic", "a", "zz"])}, app.credentials)
        assert reply.status == 200, path
        validate(template, reply.json)


def test_missing_and_wrong_keys(app: MoviesApp) -> None:
    for headers in ({}, {"Authorization": "Bearer nope"}, {"authorization": "restbench"}):
        reply = app.handle("GET", "/movie/popular", {}, headers)
        assert (reply.status, reply.json["status_code"]) == (401, 7)
    assert app.handle("GET", "/movie/popular?api_key=restbench", {}, {}).status == 200
    assert app.handle("GET", "https://api.themoviedb.org/3/movie/popular", {}, app.credentials).status == 200


@pytest.mark.parametrize(
    ("method", "url", "status", "code"),
    [
        ("GET", "/movie/1", 404, 34),
        ("GET", "/movie/abc", 404, 34),
        ("GET", "/movie/{movie_id}", 404, 34),
        ("GET", "/nothing", 404, 34),
        ("GET", "/reset", 404, 34),
        ("GET", "", 404, 34),
        ("GET", "https://elsewhere.example/3/movie/popular", 404, 34),
        ("GET", "http://[", 404, 34),
        ("GET", "/search/movie", 422, 5),
        ("GET", "/search/movie?query=", 422, 5),
        ("GET", "/search/movie?query=x&year=old", 422, 5),
        ("GET", "/movie/popular?page=0", 400, 22),
        ("GET", "/movie/popular?page=501", 400, 22),
        ("GET", "/movie/popular?page=one", 400, 22),
        ("GET", "/discover/movie?sort_by=id.asc", 422, 5),
        ("GET", "/discover/movie?vote_average.gte=nan", 422, 5),
        ("GET", "/trending/film/day", 422, 5),
        ("DELETE", "/movie/popular", 405, 4),
        ("POST", "/movie/1/rating", 404, 34),
    ],
)
def test_errors_are_the_services(app: MoviesApp, method: str, url: str, status: int, code: int) -> None:
    reply = app.handle(method, url, {}, app.credentials, b'{"value": 1}')
    assert (reply.status, reply.json["status_code"]) == (status, code)


def test_paging_covers_a_list_once(app: MoviesApp, world: World, episode: Episode) -> None:
    first = episode.get("/movie/popular")
    pages = [episode.get("/movie/popular", page=number) for number in range(1, first["total_pages"] + 2)]
    ids = [item["id"] for body in pages for item in body["results"]]
    assert ids == list(world.lists["movie/popular"]) and len(ids) == first["total_results"]
    assert pages[-1]["results"] == []


def test_some_credits_are_very_long(world: World, episode: Episode) -> None:
    titanic = max((m for m in world.movies.values() if m.title == "Titanic"), key=lambda m: m.rating.popularity)
    episode.get(f"/movie/{titanic.id}/credits")
    assert len(episode.log[-1].text or "") / 4 > 20_000  # tokens, at four characters each


def test_first_hit_of_a_search_is_not_always_meant(episode: Episode) -> None:
    titles = [item["title"] for item in episode.get("/search/movie", query="Titanic")["results"]]
    assert titles.index("Titanic") == 1 and titles.count("Titanic") == 2
    found = episode.get("/search/person", query="christopher nolan")["results"]
    assert [person["name"] for person in found].count("Christopher Nolan") == 2
    assert found[0]["name"] != "Christopher Nolan"


def test_filters_of_discovery(world: World, episode: Episode) -> None:
    asked = {"with_original_language": "en", "vote_average.gte": "7", "primary_release_date.gte": "2021-01-01"}
    body = episode.request("GET", "/discover/movie", {**asked, "sort_by": "vote_average.desc"}).json
    averages = [item["vote_average"] for item in body["results"]]
    assert averages == sorted(averages, reverse=True) and min(averages) >= 7
    expected = [
        m for m in world.movies.values() if m.language == "en" and m.rating.average >= 7 and m.date >= "2021-01-01"
    ]
    assert body["total_results"] == len(expected) > 3
    movie = expected[0]
    both = {"with_cast": f"{movie.cast[0].person},{movie.cast[1].person}", "with_genres": str(movie.genres[0])}
    assert movie.id in [item["id"] for item in episode.request("GET", "/discover/movie", both).json["results"]]


def test_pages_may_be_appended(world: World, episode: Episode) -> None:
    movie = next(iter(world.movies))
    body = episode.get(f"/movie/{movie}", append_to_response="credits,keywords,nonsense")
    assert body["credits"]["cast"] and body["keywords"]["keywords"] and "nonsense" not in body


def test_throttle_answers_429(world: World) -> None:
    app = MoviesApp(world, throttle=3)
    replies = [app.handle("GET", "/genre/tv/list", {}, app.credentials) for _ in range(6)]
    assert [reply.status for reply in replies] == [200, 200, 429, 200, 200, 429]
    assert replies[2].headers["retry-after"] == "1" and replies[2].json["status_code"] == 25


def test_two_builds_answer_byte_for_byte(world: World, app: MoviesApp) -> None:
    build.cache_clear()
    other = MoviesApp(build(1))
    rng = Random(5)
    for template in HANDLERS:
        path = template.format(**values(world, rng))
        asked = {"query": "the"}
        assert app.handle("GET", path, asked, app.credentials) == other.handle("GET", path, asked, app.credentials)


SEGMENT = st.one_of(
    st.sampled_from(sorted({part for template in HANDLERS for part in template.split("/") if part})),
    st.integers(-5, 10**13).map(str),
    st.text(max_size=8),
)
NAMES = st.one_of(
    st.sampled_from(
        ["page", "query", "year", "sort_by", "with_cast", "vote_average.gte", "release_date.lte", "region"]
    ),
    st.sampled_from(["with_status", "append_to_response", "certification.gte", "with_runtime.lte", "include_adult"]),
    st.text(max_size=6),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    template=st.sampled_from(list(HANDLERS)),
    seed=st.integers(0, 10**6),
    swap=st.lists(SEGMENT, max_size=6),
    query=st.dictionaries(NAMES, st.one_of(st.text(max_size=12), st.integers(-3, 3000).map(str)), max_size=4),
    method=st.sampled_from(["GET", "GET", "GET", "POST", "get", "TRACE"]),
)
def test_fuzz_never_breaks(
    world: World,
    app: MoviesApp,
    validate: Any,
    template: str,
    seed: int,
    swap: list[str],
    query: dict[str, str],
    method: str,
) -> None:
    path = "/" + "/".join(swap) if swap and seed % 2 else template.format(**values(world, Random(seed)))
    reply = app.handle(method, path, query, app.credentials, b"\xff{")
    assert reply.status in {200, 400, 404, 405, 422}
    if reply.status == 200:
        fake = Episode(app, app.credentials).request(method, path, query)
        assert fake.endpoint is not None
        validate(fake.endpoint, reply.json)
    else:
        assert set(json.loads(reply.body)) == {"status_code", "status_message", "success"}
