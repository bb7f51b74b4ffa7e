"""A scripted solver: answers every task through HTTP alone, along a path that contains an acceptable gold path. It is
the proof that each question can be answered in each world, and the oracle model of the experiment. It never reads a
world. Sources and hops are here; what is then asked of an entity is in `solver_kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.restbench.service import Episode

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Ref:
    """An entity as responses showed it. `at` are season and episode numbers once a hop has named them."""

    kind: str  # movie, tv, person, company, network, collection
    item: Json
    at: tuple[int, ...] = ()

    @property
    def id(self) -> int:
        """The entity's id."""
        return int(self.item["id"])

    @property
    def name(self) -> str:
        """The entity's name or title."""
        return str(self.item.get("name") or self.item.get("title"))

    @property
    def path(self) -> str:
        """The path of the entity's own page."""
        base = f"/{self.kind}/{self.id}"
        parts = [f"/{word}/{number}" for word, number in zip(("season", "episode"), self.at, strict=False)]
        return base + "".join(parts)


@dataclass
class Solver:
    """Finds things through an episode. With `exact` False it takes the first search hit, as a careless agent does."""

    episode: Episode
    exact: bool = True
    seen: dict[str, Any] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        """A response body; the same request is not sent twice."""
        key = f"{path}?{sorted(query.items())}"
        if key not in self.seen:
            self.seen[key] = self.episode.get(path, **query)
        return self.seen[key]

    def resolve(self, steps: Sequence[str]) -> Ref:
        """Follow a source and its hops to one entity."""
        ref = self._source(steps[0])
        for step in steps[1:]:
            hop, *numbers = step.split()
            ref = Ref(ref.kind, ref.item, tuple(map(int, numbers))) if numbers else _HOPS[hop](self, ref)
        return ref

    def _source(self, step: str) -> Ref:
        kind, name = step.split(" ", 1)
        if kind in ("first", "any"):
            ranked = name.split("|")[0]
            body = self.get(f"/{ranked}")
            listed = ranked.removeprefix("trending/").split("/")[0]
            return Ref(listed, body["results"][0] if "results" in body else body)
        hits = self.get(f"/search/{kind}", query=name.removeprefix("~"))["results"]
        named = [hit for hit in hits if (hit.get("name") or hit.get("title")) == name]
        if not self.exact or not named:
            return Ref(kind, hits[0])
        return Ref(kind, max(named, key=lambda hit: float(hit.get("popularity", 0))))


def directed_films(solver: Solver, person: Ref) -> list[Json]:
    """The films a person directed, newest first, each once."""
    crew = solver.get(f"{person.path}/movie_credits")["crew"]
    return _newest([item for item in crew if item["job"] == "Director"], "release_date")


def acted_films(solver: Solver, person: Ref) -> list[Json]:
    """The films a person has a role in, newest first."""
    return _newest(solver.get(f"{person.path}/movie_credits")["cast"], "release_date")


def directed_shows(solver: Solver, person: Ref) -> list[Json]:
    """The shows a person directed, newest first."""
    crew = solver.get(f"{person.path}/tv_credits")["crew"]
    return _newest([item for item in crew if item["job"] == "Director"], "first_air_date")


def acted_shows(solver: Solver, person: Ref) -> list[Json]:
    """The shows a person has a role in, newest first."""
    return _newest(solver.get(f"{person.path}/tv_credits")["cast"], "first_air_date")


def directors(solver: Solver, work: Ref) -> list[Ref]:
    """Who directed a film, season or episode."""
    crew = solver.get(f"{work.path}/credits")["crew"]
    return [Ref("person", credit) for credit in crew if credit["job"] == "Director"]


def parts(solver: Solver, collection: Ref) -> list[Ref]:
    """The films of a collection in the order of release."""
    listed = solver.get(collection.path)["parts"]
    return [Ref("movie", part) for part in sorted(listed, key=lambda part: str(part["release_date"]))]


def _newest(items: Sequence[Json], key: str) -> list[Json]:
    unique = {item["id"]: item for item in items}
    return sorted(unique.values(), key=lambda item: str(item[key]), reverse=True)


def _lead(solver: Solver, work: Ref) -> Ref:
    cast = solver.get(f"{work.path}/credits")["cast"]
    return Ref("person", min(cast, key=lambda credit: int(credit["order"])))


def _first_of(kind: str, items: Sequence[Json]) -> Ref:
    return Ref(kind, items[0])


_HOPS: dict[str, Callable[[Solver, Ref], Ref]] = {
    "lead": _lead,
    "director": lambda solver, work: directors(solver, work)[0],
    "latest_directed": lambda solver, person: _first_of("movie", directed_films(solver, person)),
    "best_directed": lambda solver, person: Ref(
        "movie", max(directed_films(solver, person), key=lambda item: float(item["vote_average"]))
    ),
    "any_directed": lambda solver, person: _first_of("movie", directed_films(solver, person)),
    "latest_acted": lambda solver, person: _first_of("movie", acted_films(solver, person)),
    "latest_show": lambda solver, person: _first_of("tv", acted_shows(solver, person)),
    "most_popular_show": lambda solver, person: Ref(
        "tv", max(acted_shows(solver, person), key=lambda item: float(item["popularity"]))
    ),
    "recent_shows_directed": lambda solver, person: _first_of("tv", directed_shows(solver, person)),
    "first_similar": lambda solver, work: _first_of("movie", solver.get(f"{work.path}/similar")["results"]),
    "first_part": lambda solver, collection: parts(solver, collection)[0],
    "any_part": lambda solver, collection: parts(solver, collection)[-1],
    "company": lambda solver, work: _first_of("company", solver.get(work.path)["production_companies"]),
    "network": lambda solver, show: _first_of("network", solver.get(show.path)["networks"]),
}
