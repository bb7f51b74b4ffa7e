"""The entities of the simulated film service as plain data, and the one object that holds them with its indexes. It
says nothing about how a world is drawn (`build`), how it looks over HTTP (`render`) or what a task expects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from experiments.restbench.matching import normalise

CLOCK = date(2024, 3, 1)  # "today" in every world


@dataclass(frozen=True, slots=True)
class Image:
    """A picture; `language` None means textless. `votes` is whole stars."""

    path: str
    width: int
    height: int
    votes: int
    vote_count: int
    language: str | None


@dataclass(frozen=True, slots=True)
class Credit:
    """One person's part in one work. `department` is "" for the cast; then `role` is the character, else the job."""

    id: str
    person: int
    role: str
    department: str
    order: int


@dataclass(frozen=True, slots=True)
class Review:
    """A viewer's review."""

    id: str
    author: str
    content: str
    url: str


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who works on films; sparse people lack dates, places and pictures."""

    id: int
    name: str
    gender: int
    department: str
    birthday: str | None
    deathday: str | None
    birthplace: str | None
    biography: str
    popularity: float
    imdb_id: str
    homepage: str | None
    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """Mean vote (0 to 10, never a whole number), number of votes, popularity; all means are distinct in a world."""

    average: float
    count: int
    popularity: float


@dataclass(frozen=True, slots=True)
class Work:
    """What a movie and a show share. `date` is the first release or airing, "" when not announced."""

    id: int
    title: str
    language: str
    country: str
    date: str
    overview: str
    homepage: str
    rating: Rating
    genres: tuple[int, ...]
    keywords: tuple[int, ...]
    companies: tuple[int, ...]
    posters: tuple[Image, ...]
    backdrops: tuple[Image, ...]
    reviews: tuple[Review, ...]
    similar: tuple[int, ...]
    recommended: tuple[int, ...]
    cast: tuple[Credit, ...]
    crew: tuple[Credit, ...]


@dataclass(frozen=True, slots=True)
class Movie(Work):
    """A film. `releases` are (country, certificate, date) in the order of the dates, the first being `date`."""

    runtime: int | None
    budget: int
    revenue: int
    tagline: str | None
    status: str
    imdb_id: str | None
    collection: int | None
    releases: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode; `cast` is empty unless the show is an anthology with its own cast each time."""

    id: int
    number: int
    name: str
    overview: str
    date: str
    code: str | None
    average: float
    votes: int
    stills: tuple[Image, ...]
    crew: tuple[Credit, ...]
    guests: tuple[Credit, ...]
    cast: tuple[Credit, ...]


@dataclass(frozen=True, slots=True)
class Season:
    """A season; number 0 holds specials and counts in no total."""

    id: int
    number: int
    name: str
    overview: str
    date: str
    posters: tuple[Image, ...]
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class Show(Work):
    """A television series."""

    creators: tuple[Credit, ...]
    networks: tuple[int, ...]
    runtimes: tuple[int, ...]
    running: bool
    seasons: tuple[Season, ...]

    @property
    def regular(self) -> tuple[Season, ...]:
        """The seasons without the specials."""
        return tuple(season for season in self.seasons if season.number > 0)

    def season(self, number: int) -> Season | None:
        """The season of that number."""
        return next((season for season in self.seasons if season.number == number), None)


@dataclass(frozen=True, slots=True)
class Organisation:
    """A production company or a television network."""

    id: int
    name: str
    headquarters: str
    homepage: str
    country: str
    description: str
    parent: int | None
    logos: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """A series of films, `parts` in the order of release."""

    id: int
    name: str
    overview: str
    parts: tuple[int, ...]
    posters: tuple[Image, ...]
    backdrops: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One credit of a person: the work, the credit, and for television the number of episodes it covers."""

    work: int
    credit: Credit
    episodes: int


Filmography = Mapping[int, Sequence[Part]]


@dataclass(frozen=True, eq=False)
class World:
    """Everything drawn, by id, and the ranked lists by name (`movie/popular`, `trending/tv/day`, ...).

    Immutable, and the same for equal (`seed`, `counterfactual`). The indexes are made on first use.
    """

    seed: int
    counterfactual: bool
    people: Mapping[int, Person]
    movies: Mapping[int, Movie]
    shows: Mapping[int, Show]
    companies: Mapping[int, Organisation]
    networks: Mapping[int, Organisation]
    collections: Mapping[int, Collection]
    movie_genres: Mapping[int, str]
    tv_genres: Mapping[int, str]
    keywords: Mapping[int, str]
    lists: Mapping[str, tuple[int, ...]]

    @cached_property
    def movie_cast(self) -> Filmography:
        """Per person, the film roles, in table order."""
        return _group(Part(movie.id, credit, 0) for movie in self.movies.values() for credit in movie.cast)

    @cached_property
    def movie_crew(self) -> Filmography:
        """Per person, the film jobs, in table order."""
        return _group(Part(movie.id, credit, 0) for movie in self.movies.values() for credit in movie.crew)

    @cached_property
    def tv_cast(self) -> Filmography:
        """Per person, the television roles: main cast, then guest parts, one per show and character."""
        return _group(part for show in self.shows.values() for part in _cast_parts(show))

    @cached_property
    def tv_crew(self) -> Filmography:
        """Per person, the television jobs, one per show and job, with the number of episodes."""
        return _group(part for show in self.shows.values() for part in _crew_parts(show))

    @cached_property
    def reviews(self) -> Mapping[str, tuple[Work, Review]]:
        """Every review by id, with the work it is about."""
        works: list[Work] = [*self.movies.values(), *self.shows.values()]
        return {review.id: (work, review) for work in works for review in work.reviews}

    @cached_property
    def credits(self) -> Mapping[str, tuple[Work, Credit]]:
        """Every credit by id that a filmography shows, with its work."""
        found: dict[str, tuple[Work, Credit]] = {}
        for filmography, works in (
            (self.movie_cast, self.movies),
            (self.movie_crew, self.movies),
            (self.tv_cast, self.shows),
            (self.tv_crew, self.shows),
        ):
            for parts in filmography.values():
                found.update({part.credit.id: (works[part.work], part.credit) for part in parts})
        return found

    @cached_property
    def search_words(self) -> Mapping[str, Mapping[str, frozenset[int]]]:
        """Per searchable kind (movie, tv, person, company, collection), each word of a name with its ids."""
        names: dict[str, dict[int, str]] = {
            "movie": {i: movie.title for i, movie in self.movies.items()},
            "tv": {i: show.title for i, show in self.shows.items()},
            "person": {i: person.name for i, person in self.people.items()},
            "company": {i: company.name for i, company in self.companies.items()},
            "collection": {i: collection.name for i, collection in self.collections.items()},
        }
        return {kind: _words(table) for kind, table in names.items()}


def season_crew(season: Season) -> list[Credit]:
    """The crew of a season: each person and job once, under the credit of its first episode."""
    return list({(c.person, c.role): c for episode in reversed(season.episodes) for c in episode.crew}.values())[::-1]


def _words(names: Mapping[int, str]) -> Mapping[str, frozenset[int]]:
    having: dict[str, set[int]] = {}
    for key, name in names.items():
        for word in normalise(name).split():
            having.setdefault(word, set()).add(key)
    return {word: frozenset(ids) for word, ids in having.items()}


def _cast_parts(show: Show) -> list[Part]:
    total = sum(len(season.episodes) for season in show.regular)
    parts = [Part(show.id, credit, total) for credit in show.cast]
    guests = [c for s in show.seasons for e in s.episodes for c in (*e.cast, *e.guests)]
    counts = Counter((credit.person, credit.role) for credit in guests)
    once = {(credit.person, credit.role): credit for credit in reversed(guests)}
    return parts + [Part(show.id, credit, counts[key]) for key, credit in reversed(once.items())]


def _crew_parts(show: Show) -> list[Part]:
    jobs = [credit for season in show.seasons for episode in season.episodes for credit in episode.crew]
    counts = Counter((credit.person, credit.role) for credit in jobs)
    total = sum(len(season.episodes) for season in show.regular)
    counts.update({(credit.person, credit.role): total for credit in (*show.creators, *show.crew)})
    once = {(credit.person, credit.role): credit for credit in (*reversed(jobs), *show.crew, *show.creators)}
    return [Part(show.id, credit, counts[key]) for key, credit in once.items()]


def _group(parts: Iterable[Part]) -> Filmography:
    grouped: dict[int, list[Part]] = {}
    for part in parts:
        grouped.setdefault(part.credit.person, []).append(part)
    return grouped
