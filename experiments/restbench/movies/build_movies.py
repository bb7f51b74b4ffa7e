"""Draws the films of a world: which exist, when they came out, who made them. Questions rely on a few things that
are made sure here: each named director and actor has enough films, no film of theirs is still to come (but for
the one that a question asks for), dates and ratings are all different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from experiments.restbench.movies import names
from experiments.restbench.movies.build_people import People
from experiments.restbench.movies.draw import Dice, Slot, rating, some, span
from experiments.restbench.movies.world import CLOCK, Collection, Credit, Movie, Rating, Review

TOTAL = 600
_UPCOMING, _NOW_PLAYING = 24, 32
_CROWD_CAST, _CROWD_CREW = 200, 380


@dataclass(frozen=True)
class Catalogue:
    """What works refer to: ids of genres, keywords and companies with full records."""

    genres: tuple[int, ...]
    keywords: tuple[int, ...]
    companies: tuple[int, ...]


@dataclass
class Casting:
    """Who is set for a film before the rest of its credits is drawn."""

    directors: dict[int, list[int]] = field(default_factory=dict)
    producers: dict[int, list[int]] = field(default_factory=dict)
    actors: dict[int, list[int]] = field(default_factory=dict)


def movie_slots(dice: Dice, listed: Mapping[str, Any]) -> tuple[list[Slot], dict[int, tuple[str, bool]]]:
    """All films with ids and titles but no facts, and the collections as id -> (name, famous)."""
    slots = [Slot(dice.id(), e["title"], "named", crowd=e.get("crowd", False)) for e in listed["movies"]]
    for e in listed["movies_decoys"]:
        famous = e.get("famous", False)
        slots.append(Slot(dice.id(), e["title"], "decoy", rich=famous, famous=famous))
    dice.taken_names |= {slot.title for slot in slots}
    collections: dict[int, tuple[str, bool]] = {}
    for e in [*listed["collections"], *listed["collections_decoys"]]:
        key = dice.id()
        collections[key] = (e["name"], e.get("famous", False))
        for _ in range(dice.names.randint(*e["parts"])):
            title = names.unique(dice.names, partial(_part, prefix=e["prefix"]), dice.taken_names)
            slots.append(Slot(dice.id(), title, "filler", collection=key))
    while len(slots) < TOTAL:
        title = names.unique(dice.names, names.title, dice.taken_names)
        slots.append(Slot(dice.id(), title, "filler", rich=dice.names.random() < 0.85))
    return slots, collections


def set_dates(dice: Dice, slots: Sequence[Slot]) -> None:
    """Give each film its day. Loose rich fillers fill the windows of coming and running films."""
    loose = [slot for slot in slots if slot.kind == "filler" and slot.rich and slot.collection is None]
    window = dice.facts.sample(loose, k=_UPCOMING + _NOW_PLAYING)
    for slot in window[:_UPCOMING]:
        slot.day = dice.day(span(CLOCK + timedelta(days=3), CLOCK + timedelta(days=300)))
    for slot in window[_UPCOMING:]:
        slot.day = dice.day(span(CLOCK - timedelta(days=42), CLOCK - timedelta(days=1)))
    for slot in slots:
        unannounced = not slot.rich and slot.kind == "filler" and dice.facts.random() < 0.15
        if slot.day is None and not unannounced:
            slot.day = dice.past()


def cast_movies(dice: Dice, slots: Sequence[Slot], people: People, listed: Mapping[str, Any]) -> Casting:
    """Decide directors, and where the named people act or produce."""
    facts = dice.facts
    casting = Casting()
    open_slots = [
        slot.id for slot in slots if slot.rich and slot.day is not None and slot.day < CLOCK - timedelta(days=42)
    ]
    facts.shuffle(open_slots)
    counts = facts.sample(range(5, 13), k=8)  # the two compared directors must not tie
    for entry in listed["people"]:
        person = people.named[entry["name"]]
        low, high = entry.get("directs", (0, 0))
        films = facts.randint(low, high)
        if entry["name"] in ("Akira Kurosawa", "Steven Spielberg"):
            films = counts.pop()
        for movie in [open_slots.pop() for _ in range(films)]:
            casting.directors[movie] = [person]
        if films:
            for movie in facts.sample(open_slots, k=facts.randint(1, 4)):
                casting.producers.setdefault(movie, []).append(person)
        for movie in facts.sample(open_slots, k=facts.randint(*entry.get("acts", (0, 0)))):
            casting.actors.setdefault(movie, []).append(person)
    last = max((slot for slot in slots if slot.day is not None), key=lambda slot: slot.day or CLOCK)
    casting.directors[last.id] = [people.named["Clint Eastwood"]]
    for slot in slots:
        pair = facts.sample(people.directors, k=2)
        second = slot.kind == "filler" and facts.random() < 0.05
        casting.directors.setdefault(slot.id, pair if second else pair[:1])
    return casting


def build_movie(
    dice: Dice, slot: Slot, rich_ids: Sequence[int], people: People, casting: Casting, catalogue: Catalogue
) -> Movie:
    """One film with all its facts."""
    facts = dice.facts
    country = "US" if slot.kind == "named" or slot.collection else facts.choice(("US", "US", "US", *names.COUNTRIES))
    day = slot.day.isoformat() if slot.day else ""
    others = [i for i in rich_ids if i != slot.id]
    released = bool(slot.day and slot.day <= CLOCK)
    return Movie(
        id=slot.id,
        title=slot.title,
        language=names.LANGUAGES[country],
        country=country,
        date=day,
        overview=names.plot(facts, facts.randint(1, 3)) if slot.rich else "",
        homepage=f"https://{names.slug(slot.title)}.example/film" if facts.random() < 0.5 else "",
        rating=rating(dice, slot),
        genres=some(facts, catalogue.genres, 1, 3) if slot.rich else some(facts, catalogue.genres, 0, 2),
        keywords=some(facts, catalogue.keywords, 4, 12) if slot.rich else (),
        companies=some(facts, catalogue.companies, 1, 3),
        posters=dice.images(facts.randint(3, 8), 2000, 3000) if slot.rich else (),
        backdrops=dice.images(facts.randint(2, 5), 3840, 2160) if slot.rich else (),
        reviews=reviews(dice, slot) if slot.rich else (),
        similar=some(facts, others, 24, 36) if slot.rich else some(facts, others, 0, 3),
        recommended=some(facts, others, 21, 30) if slot.rich else (),
        cast=_cast(dice, slot, people, casting),
        crew=_crew(dice, slot, people, casting),
        runtime=facts.randint(78, 190) if slot.rich else None,
        budget=facts.randrange(10**6, 2 * 10**8) if slot.rich else 0,
        revenue=facts.randrange(10**6, 9 * 10**8) if slot.rich and released else 0,
        tagline=names.opinion(facts, 1) if facts.random() < 0.5 else None,
        status="Released" if released else "Post Production" if slot.day else "Planned",
        imdb_id=dice.imdb_id("tt") if slot.rich else None,
        collection=slot.collection,
        releases=_releases(dice, slot),
    )


def reviews(dice: Dice, slot: Slot) -> tuple[Review, ...]:
    """Two to six reviews, now and then more than a page of them."""
    count = dice.facts.randint(21, 26) if dice.facts.random() < 0.04 else dice.facts.randint(2, 6)
    found = []
    for _ in range(count):
        key = dice.hex_id()
        author = names.person(dice.facts)
        found.append(
            Review(key, author, names.opinion(dice.facts, dice.facts.randint(2, 5)), f"https://reviews.example/{key}")
        )
    return tuple(found)


def build_collection(dice: Dice, key: int, name: str, parts: Sequence[Slot]) -> Collection:
    """A collection; its parts in the order of release."""
    ordered = sorted(parts, key=lambda slot: slot.day or CLOCK)
    posters, backdrops = dice.images(dice.facts.randint(2, 5), 2000, 3000), dice.images(3, 3840, 2160)
    return Collection(key, name, names.plot(dice.facts, 1), tuple(slot.id for slot in ordered), posters, backdrops)


def lift_into_chart(dice: Dice, movies: dict[int, Movie], title: str) -> None:
    """With even odds, move the film of that title into the ten best rated by changing places with one of them."""
    chart = sorted((m for m in movies.values() if m.rating.count >= 300), key=lambda m: -m.rating.average)[:10]
    movie = next(m for m in movies.values() if m.title == title)
    other = dice.facts.choice(chart)
    if dice.facts.random() < 0.5 and movie not in chart:
        movies[movie.id] = replace(movie, rating=_averages(movie.rating, other.rating))
        movies[other.id] = replace(other, rating=_averages(other.rating, movie.rating))


def _averages(own: Rating, other: Rating) -> Rating:
    return replace(own, average=other.average)


def _part(rng: Random, prefix: str) -> str:
    text = names.subtitle(rng)
    return prefix + (text if prefix.endswith("and ") else text[0].upper() + text[1:])


def _cast(dice: Dice, slot: Slot, people: People, casting: Casting) -> tuple[Credit, ...]:
    facts = dice.facts
    if slot.rich:
        size = _CROWD_CAST if slot.crowd else facts.randint(12, 34)
        chosen = facts.sample(people.leads, k=8)
        chosen += facts.sample([i for i in people.crowd if i not in chosen], k=size - 8)
        for person in casting.actors.get(slot.id, []):
            chosen.insert(facts.randrange(0, 5), person)
    else:
        chosen = facts.sample(people.crowd, k=facts.randint(0, 4))
    return tuple(dice.credit(person, names.person(facts), order=order) for order, person in enumerate(chosen))


def _crew(dice: Dice, slot: Slot, people: People, casting: Casting) -> tuple[Credit, ...]:
    facts = dice.facts
    crew = [dice.credit(person, "Producer", "Production") for person in casting.producers.get(slot.id, [])]
    directors = casting.directors[slot.id]
    crew += [dice.credit(person, "Director", "Directing") for person in directors]
    if facts.random() < 0.3:
        crew.append(dice.credit(directors[0], "Screenplay", "Writing"))
    size = _CROWD_CREW if slot.crowd else facts.randint(6, 14) if slot.rich else 0
    for person in facts.sample(people.crowd, k=size):
        department, job = facts.choice(names.CREW_JOBS)
        crew.append(dice.credit(person, job, department))
    facts.shuffle(crew)
    return tuple(crew)


def _releases(dice: Dice, slot: Slot) -> tuple[tuple[str, str, str], ...]:
    if slot.day is None:
        return ()
    found = [("US", dice.facts.choice(("PG", "PG-13", "R")), slot.day.isoformat())]
    if slot.rich:
        for country in dice.facts.sample([c for c in names.COUNTRIES if c != "US"], k=dice.facts.randint(2, 6)):
            later = slot.day + timedelta(days=dice.facts.randint(1, 90))
            found.append((country, dice.facts.choice(("", "12", "16")), later.isoformat()))
    return tuple(sorted(found, key=lambda item: item[2]))
