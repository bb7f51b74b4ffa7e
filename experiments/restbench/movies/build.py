"""Draws a whole world from a seed: the tables in their order, then the ranked lists. `counterfactual` keeps who and
what exists (names and ids) and draws every fact anew, so that knowing the ordinary world answers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from experiments.restbench.movies import names
from experiments.restbench.movies.build_movies import (
    Casting,
    Catalogue,
    build_collection,
    build_movie,
    cast_movies,
    lift_into_chart,
    movie_slots,
    set_dates,
)
from experiments.restbench.movies.build_people import People, build_people
from experiments.restbench.movies.build_shows import build_show, cast_shows, show_slots
from experiments.restbench.movies.draw import Dice, Slot
from experiments.restbench.movies.world import CLOCK, Collection, Movie, Organisation, Person, Show, Work, World

_NAMED = Path(__file__).with_name("named.yaml")
_CHART_VOTES = 300


@lru_cache(maxsize=4)
def build(seed: int, counterfactual: bool = False) -> World:
    """The world of a seed: about 600 films, 200 shows and 1500 people, in about a second. Equal calls, equal worlds."""
    listed: dict[str, Any] = yaml.safe_load(_NAMED.read_text(encoding="utf-8"))
    dice = Dice.of(seed, counterfactual)
    movie_genres = {dice.id(): name for name in names.MOVIE_GENRES}
    tv_genres = {dice.id(): name for name in names.TV_GENRES}
    keywords = {dice.id(): names.unique(dice.names, names.keyword, dice.taken_names) for _ in range(160)}
    people = build_people(dice, listed)
    named = [*listed["companies"], *listed["companies_decoys"]]
    companies = _organisations(dice, named, names.company, 120)
    networks = _organisations(dice, [], names.network, 25)
    slots, collection_names = movie_slots(dice, listed)
    tv_slots = show_slots(dice, listed)
    set_dates(dice, slots)
    casting = cast_movies(dice, slots, people, listed)
    known = Catalogue(tuple(movie_genres), tuple(keywords), tuple(companies))
    movies = _movies(dice, slots, people, casting, known)
    dice.taken_days.clear()  # a show may start on the day of a film
    known_tv = Catalogue(tuple(tv_genres), tuple(keywords), tuple(companies))
    tv_casting = cast_shows(dice, tv_slots, people, listed, _directors(slots, casting))
    rich = [slot.id for slot in tv_slots if slot.rich]
    shows = {s.id: build_show(dice, s, rich, people, tv_casting, known_tv, tuple(networks)) for s in tv_slots}
    collections = _collections(dice, slots, collection_names)
    lists = _lists(dice.facts, people.table, movies, shows)
    return World(
        seed, counterfactual, people.table, movies, shows, companies, networks, collections, movie_genres, tv_genres,
        keywords, lists,
    )  # fmt: skip


def _movies(dice: Dice, slots: Sequence[Slot], people: People, casting: Casting, known: Catalogue) -> dict[int, Movie]:
    rich = [slot.id for slot in slots if slot.rich]
    movies = {slot.id: build_movie(dice, slot, rich, people, casting, known) for slot in slots}
    lift_into_chart(dice, movies, "Mulholland Drive")
    return movies


def _directors(slots: Sequence[Slot], casting: Casting) -> dict[str, int]:
    return {slot.title: casting.directors[slot.id][0] for slot in slots if slot.kind == "named"}


def _organisations(dice: Dice, named: Sequence[str], make: Any, total: int) -> dict[int, Organisation]:
    found: dict[int, Organisation] = {}
    dice.taken_names |= set(named)
    for index in range(total):
        name = named[index] if index < len(named) else names.unique(dice.names, make, dice.taken_names)
        key = dice.id()
        parent = dice.facts.choice(list(found)) if found and dice.facts.random() < 0.1 else None
        found[key] = Organisation(
            id=key,
            name=name,
            headquarters=names.place(dice.facts),
            homepage=f"https://www.{names.slug(name)}.example",
            country=dice.facts.choice(names.COUNTRIES),
            description="" if dice.facts.random() < 0.6 else names.plot(dice.facts, 1),
            parent=parent,
            logos=dice.images(dice.facts.randint(1, 4), 500, 200, dice.facts.choice((".png", ".svg"))),
        )
    return found


def _collections(dice: Dice, slots: Sequence[Slot], named: Mapping[int, tuple[str, bool]]) -> dict[int, Collection]:
    famous_first = sorted(named.items(), key=lambda item: not item[1][1])
    return {
        key: build_collection(dice, key, name, [slot for slot in slots if slot.collection == key])
        for key, (name, _) in famous_first
    }


def _lists(
    facts: Random, people: Mapping[int, Person], movies: Mapping[int, Movie], shows: Mapping[int, Show]
) -> dict[str, tuple[int, ...]]:
    today = CLOCK.isoformat()
    week, recent = (CLOCK + timedelta(days=6)).isoformat(), (CLOCK - timedelta(days=42)).isoformat()
    running = [s for s in shows.values() if s.running and any(today <= d <= week for d in _days(s))]
    fans = tuple(i for i, _ in sorted(people.items(), key=lambda item: -item[1].popularity))
    lists = {
        "movie/popular": _popular(m for m in movies.values() if m.reviews),
        "movie/top_rated": _rated(movies.values()),
        "movie/now_playing": _popular(m for m in movies.values() if recent <= m.date <= today),
        "movie/upcoming": _popular(m for m in movies.values() if m.date > today),
        "movie/latest": (max((m for m in movies.values() if m.date <= today), key=lambda m: m.date).id,),
        "tv/popular": _popular(s for s in shows.values() if s.reviews),
        "tv/top_rated": _rated(shows.values()),
        "tv/on_the_air": _popular(running),
        "tv/airing_today": _popular(s for s in running if today in _days(s)),
        "tv/latest": (max(shows.values(), key=lambda s: s.date).id,),
        "person/popular": fans,
    }
    for window in ("day", "week"):
        for kind, pool in (("movie", lists["movie/popular"]), ("tv", lists["tv/popular"]), ("person", fans)):
            lists[f"trending/{kind}/{window}"] = tuple(facts.sample(pool[:60], k=40))
    return lists


def _days(show: Show) -> list[str]:
    return [episode.date for season in show.regular for episode in season.episodes]


def _popular(works: Iterable[Work]) -> tuple[int, ...]:
    return tuple(work.id for work in sorted(works, key=lambda w: -w.rating.popularity))


def _rated(works: Iterable[Work]) -> tuple[int, ...]:
    chart = [work for work in works if work.rating.count >= _CHART_VOTES and work.date <= CLOCK.isoformat()]
    return tuple(work.id for work in sorted(chart, key=lambda w: -w.rating.average))
