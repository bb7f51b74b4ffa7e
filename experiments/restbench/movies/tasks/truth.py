"""Follows a task's source and hops through a world's tables: from the words of the question to the entities that the
answer may be about. It reads the world only; the same way over HTTP is `solver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from experiments.restbench.matching import normalise
from experiments.restbench.movies.world import (
    Collection,
    Credit,
    Episode,
    Movie,
    Organisation,
    Part,
    Person,
    Season,
    Show,
    Work,
    World,
    season_crew,
)
from experiments.restbench.oracle import Evidence, Leaf

Kind = TypeVar("Kind", bound=Work)


@dataclass(frozen=True)
class SeasonOf:
    """A season with its show."""

    show: Show
    season: Season


@dataclass(frozen=True)
class EpisodeOf:
    """An episode with its show and season."""

    show: Show
    season: Season
    episode: Episode


Entity = Movie | Show | Person | Organisation | Collection | SeasonOf | EpisodeOf


@dataclass(frozen=True)
class Found:
    """An entity that a question may mean, and what a response must have shown to get there (a credit's id)."""

    entity: Entity
    evidence: tuple[Evidence, ...] = ()


def resolve(world: World, steps: Sequence[str]) -> list[Found]:
    """All entities that a source and its hops lead to. An empty list means a fault in the world or the task."""
    found = [Found(entity) for entity in _source(world, steps[0])]
    for step in steps[1:]:
        hop, *numbers = step.split()
        found = [
            Found(further.entity, (*before.evidence, *further.evidence))
            for before in found
            for further in _HOPS[hop](world, before.entity, [int(number) for number in numbers])
        ]
    return found


def best_known(world: World, kind: str, name: str) -> Entity:
    """The entity of exactly this name; of several, the most popular."""
    tables: dict[str, Mapping[int, Any]] = {
        "movie": world.movies,
        "tv": world.shows,
        "person": world.people,
        "company": world.companies,
        "collection": world.collections,
    }
    hits = [entity for entity in tables[kind].values() if name_of(entity) == name]
    best: Entity = max(hits, key=_fame)
    return best


def name_of(entity: Entity) -> str:
    """What an entity is called."""
    if isinstance(entity, Movie | Show):
        return entity.title
    if isinstance(entity, EpisodeOf):
        return entity.episode.name
    return entity.season.name if isinstance(entity, SeasonOf) else entity.name


def directed(world: World, person: Person) -> list[Movie]:
    """The films a person directed, newest first; one without a date comes last."""
    return _films(world, world.movie_crew.get(person.id, ()), "Director")


def acted(world: World, person: Person) -> list[Movie]:
    """The films a person has a role in, newest first."""
    return _films(world, world.movie_cast.get(person.id, ()))


def shows_directed(world: World, person: Person) -> list[Show]:
    """The shows a person directed episodes of, newest first."""
    parts = [part for part in world.tv_crew.get(person.id, ()) if part.credit.role == "Director"]
    return _newest([world.shows[part.work] for part in parts])


def shows_acted(world: World, person: Person) -> list[Show]:
    """The shows a person has a role in, newest first."""
    return _newest([world.shows[part.work] for part in world.tv_cast.get(person.id, ())])


def season_directors(season: Season) -> list[Credit]:
    """Who directed episodes of a season."""
    return [credit for credit in season_crew(season) if credit.role == "Director"]


def _source(world: World, step: str) -> list[Entity]:
    kind, name = step.split(" ", 1)
    if kind == "first":
        return [_listed(world, ranked, world.lists[ranked][0]) for ranked in name.split("|")]
    if kind == "any":
        return [_listed(world, name, key) for key in world.lists[name]]
    if name.startswith("~"):
        table: Mapping[int, Movie] | Mapping[int, Organisation]
        table = world.movies if kind == "movie" else world.companies
        return [entity for entity in table.values() if normalise(name) in normalise(name_of(entity))]
    return [best_known(world, kind, name)]


def _listed(world: World, ranked: str, key: int) -> Entity:
    kind = ranked.removeprefix("trending/").split("/")[0]
    return world.movies[key] if kind == "movie" else world.shows[key] if kind == "tv" else world.people[key]


def _fame(entity: Entity) -> float:
    if isinstance(entity, Movie | Show):
        return entity.rating.popularity
    return entity.popularity if isinstance(entity, Person) else 0.0


def _films(world: World, parts: Sequence[Part], job: str | None = None) -> list[Movie]:
    return _newest([world.movies[part.work] for part in parts if job is None or part.credit.role == job])


def _newest(works: list[Kind]) -> list[Kind]:
    unique = {work.id: work for work in works}
    return sorted(unique.values(), key=lambda work: work.date, reverse=True)


def _credited(world: World, credits: Sequence[Credit]) -> list[Found]:
    return [Found(world.people[credit.person], (Leaf(credit.id),)) for credit in credits]


def _lead(world: World, entity: Any, numbers: list[int]) -> list[Found]:
    """Who stands first in the cast; for an episode, in its own cast."""
    cast = entity.episode.cast or entity.show.cast if isinstance(entity, EpisodeOf) else entity.cast
    return _credited(world, cast[:1])


def _director(world: World, entity: Any, numbers: list[int]) -> list[Found]:
    crew = entity.episode.crew if isinstance(entity, EpisodeOf) else entity.crew
    return _credited(world, [credit for credit in crew if credit.role == "Director"])


def _season(world: World, entity: Any, numbers: list[int]) -> list[Found]:
    season = entity.season(numbers[0])
    return [Found(SeasonOf(entity, season))] if season else []


def _episode(world: World, entity: Any, numbers: list[int]) -> list[Found]:
    season = entity.season(numbers[0])
    episodes = season.episodes if season else ()
    return [Found(EpisodeOf(entity, season, each)) for each in episodes if each.number == numbers[1]]


def _each(entities: Sequence[Entity]) -> list[Found]:
    return [Found(entity) for entity in entities]


_HOPS: dict[str, Callable[[World, Any, list[int]], list[Found]]] = {
    "lead": _lead,
    "director": _director,
    "season": _season,
    "episode": _episode,
    "latest_directed": lambda world, person, _: _each(directed(world, person)[:1]),
    "best_directed": lambda world, person, _: _each(
        sorted(directed(world, person), key=lambda movie: -movie.rating.average)[:1]
    ),
    "any_directed": lambda world, person, _: _each(directed(world, person)),
    "latest_acted": lambda world, person, _: _each(acted(world, person)[:1]),
    "latest_show": lambda world, person, _: _each(shows_acted(world, person)[:1]),
    "most_popular_show": lambda world, person, _: _each(
        sorted(shows_acted(world, person), key=lambda show: -show.rating.popularity)[:1]
    ),
    # "recently" is open: either of the two newest will do
    "recent_shows_directed": lambda world, person, _: _each(shows_directed(world, person)[:2]),
    "first_similar": lambda world, movie, _: _each([world.movies[movie.similar[0]]]),
    "first_part": lambda world, collection, _: _each([world.movies[collection.parts[0]]]),
    "any_part": lambda world, collection, _: _each([world.movies[i] for i in collection.parts]),
    "company": lambda world, work, _: _each([world.companies[i] for i in work.companies]),
    "network": lambda world, show, _: _each([world.networks[i] for i in show.networks]),
}
