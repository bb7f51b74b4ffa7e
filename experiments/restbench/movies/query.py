"""Search and discovery over a world: which ids a request asks for, in which order. Parameters arrive here already
checked for type; how results look is `render`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from experiments.restbench.matching import normalise
from experiments.restbench.movies.world import Movie, Show, Work, World

Params = Mapping[str, Any]
Kind = TypeVar("Kind", bound=Work)
Test = Callable[[Any, Any], bool]  # (work, the parameter's value) -> keep it?


def search(world: World, kind: str, words: str) -> list[int]:
    """Ids whose name has a word for each word asked, in the order of popularity, not of likeness.

    A word asked may be the beginning of the name's word, or run at most two letters over it ("redemptionn").
    "the" is left out unless nothing else is asked.
    """
    asked = normalise(words).split()
    asked = [word for word in asked if word != "the"] or asked
    known = world.search_words[kind]
    sets = [_having(known, word) for word in asked]
    return sorted(set.intersection(*sets), key=_order(world, kind)) if sets else []


def discover_movies(world: World, params: Params) -> list[Movie]:
    """The films that pass every filter, sorted as asked."""
    kept = _filtered(world.movies.values(), params, _MOVIE_TESTS)
    return _sorted(kept, params.get("sort_by") or "popularity.desc")


def discover_shows(world: World, params: Params) -> list[Show]:
    """The shows that pass every filter, sorted as asked."""
    kept = _filtered(world.shows.values(), params, _SHOW_TESTS)
    return _sorted(kept, params.get("sort_by") or "popularity.desc")


def _having(known: Mapping[str, frozenset[int]], asked: str) -> set[int]:
    found: set[int] = set()
    for word, ids in known.items():
        if word.startswith(asked) or (len(word) >= 5 and asked.startswith(word) and len(asked) - len(word) <= 2):
            found |= ids
    return found


def _order(world: World, kind: str) -> Callable[[int], float]:
    if kind == "movie":
        return lambda i: -world.movies[i].rating.popularity
    if kind == "tv":
        return lambda i: -world.shows[i].rating.popularity
    if kind == "person":
        return lambda i: -world.people[i].popularity
    place = {i: at for at, i in enumerate(world.companies if kind == "company" else world.collections)}
    return lambda i: place[i]


def _filtered(works: Iterable[Kind], params: Params, tests: Mapping[str, Test]) -> list[Kind]:
    active = [(tests[name], value) for name, value in params.items() if name in tests]
    return [work for work in works if all(test(work, value) for test, value in active)]


def _sorted(works: list[Kind], order: str) -> list[Kind]:
    field, direction = order.rsplit(".", 1)
    return sorted(works, key=_SORT_KEYS[field], reverse=direction == "desc")


_SORT_KEYS: dict[str, Callable[[Any], Any]] = {
    "popularity": lambda work: work.rating.popularity,
    "vote_average": lambda work: work.rating.average,
    "vote_count": lambda work: work.rating.count,
    "release_date": lambda work: work.date,
    "primary_release_date": lambda work: work.date,
    "first_air_date": lambda work: work.date,
    "revenue": lambda work: work.revenue,
    "original_title": lambda work: work.title,
}


def _ids(of: Callable[[Any], Iterable[int]], keep: bool = True) -> Test:
    """A test over ids: `1,2` asks for all of them, `1|2` for any. With keep False the work must have none."""

    def test(work: Any, value: str) -> bool:
        have = {str(i) for i in of(work)}
        if not keep:
            return not have & set(value.replace("|", ",").split(","))
        return all(have & set(part.split("|")) for part in value.split(","))

    return test


def _people(work: Work, cast: bool, crew: bool) -> list[int]:
    return [credit.person for credit in (*(work.cast if cast else ()), *(work.crew if crew else ()))]


def _certified(work: Movie, value: str) -> bool:
    return any(country == "US" and certificate in value.split("|") for country, certificate, _ in work.releases)


_RANKS = {"PG": 1, "PG-13": 2, "R": 3}


def _rank(work: Movie) -> int:
    return next((_RANKS[certificate] for country, certificate, _ in work.releases if country == "US"), 0)


def _nothing(work: Any, value: Any) -> bool:
    return False  # no work is offered by any streaming service in these worlds


_COMMON_TESTS: dict[str, Test] = {
    "vote_average.gte": lambda work, value: work.rating.average >= value,
    "vote_average.lte": lambda work, value: work.rating.average <= value,
    "vote_count.gte": lambda work, value: work.rating.count >= value,
    "vote_count.lte": lambda work, value: work.rating.count <= value,
    "with_genres": _ids(lambda work: work.genres),
    "without_genres": _ids(lambda work: work.genres, keep=False),
    "with_keywords": _ids(lambda work: work.keywords),
    "without_keywords": _ids(lambda work: work.keywords, keep=False),
    "with_companies": _ids(lambda work: work.companies),
    "without_companies": _ids(lambda work: work.companies, keep=False),
    "with_original_language": lambda work, value: work.language in value.split("|"),
    "with_watch_providers": _nothing,
    "with_watch_monetization_types": _nothing,
}
_MOVIE_TESTS: dict[str, Test] = {
    **_COMMON_TESTS,
    "primary_release_year": lambda work, value: work.date[:4] == str(value),
    "year": lambda work, value: any(day[:4] == str(value) for _, _, day in work.releases),
    "primary_release_date.gte": lambda work, value: work.date >= value,
    "primary_release_date.lte": lambda work, value: "" < work.date <= value,
    "release_date.gte": lambda work, value: any(day >= value for _, _, day in work.releases),
    "release_date.lte": lambda work, value: any(day <= value for _, _, day in work.releases),
    "with_release_type": lambda work, value: value == 3,
    "with_cast": _ids(lambda work: _people(work, True, False)),
    "with_crew": _ids(lambda work: _people(work, False, True)),
    "with_people": _ids(lambda work: _people(work, True, True)),
    "with_runtime.gte": lambda work, value: (work.runtime or 0) >= value,
    "with_runtime.lte": lambda work, value: (work.runtime or 0) <= value,
    "certification": _certified,
    "certification.gte": lambda work, value: _rank(work) >= _RANKS.get(value, 0),
    "certification.lte": lambda work, value: 0 < _rank(work) <= _RANKS.get(value, 0),
}
_SHOW_TESTS: dict[str, Test] = {
    **_COMMON_TESTS,
    "air_date.gte": lambda work, value: any(e.date >= value for s in work.seasons for e in s.episodes),
    "air_date.lte": lambda work, value: any(e.date <= value for s in work.seasons for e in s.episodes),
    "first_air_date.gte": lambda work, value: work.date >= value,
    "first_air_date.lte": lambda work, value: work.date <= value,
    "first_air_date_year": lambda work, value: work.date[:4] == str(value),
    "with_networks": _ids(lambda work: work.networks),
    "with_runtime.gte": lambda work, value: work.runtimes[0] >= value,
    "with_runtime.lte": lambda work, value: work.runtimes[0] <= value,
    "screened_theatrically": lambda work, value: not value,
    "with_status": lambda work, value: ("0" if work.running else "3") in value.split("|"),
    "with_type": lambda work, value: "4" in value.split("|"),
}
