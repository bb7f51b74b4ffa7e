"""Draws the television of a world: shows, seasons, episodes and who is in them. Questions rely on a few things that
are made sure here: required seasons and episodes exist, named people have shows, one anthology has its own cast in
each episode, and shows on the air have an episode within a week of the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from experiments.restbench.movies import names
from experiments.restbench.movies.build_movies import Catalogue, reviews
from experiments.restbench.movies.build_people import People
from experiments.restbench.movies.draw import Dice, Slot, rating, some, span
from experiments.restbench.movies.world import CLOCK, Credit, Episode, Season, Show

TOTAL = 200
_ON_THE_AIR = 28


@dataclass
class ShowSlot(Slot):
    """A show without facts. `lengths` are the numbers of episodes of seasons 1, 2, ...; `specials` of season 0."""

    lengths: tuple[int, ...] = ()
    specials: int = 0
    language: str = "en"
    country: str = "US"
    anthology: bool = False
    single_director: int | None = None  # this season has one director
    on_the_air: bool = False


@dataclass
class ShowCasting:
    """Who is set before the rest is drawn. `directors` is by (show, season)."""

    directors: dict[tuple[int, int], int] = field(default_factory=dict)
    actors: dict[int, list[int]] = field(default_factory=dict)
    lead_pool: dict[int, list[int]] = field(default_factory=dict)


def show_slots(dice: Dice, listed: Mapping[str, Any]) -> list[ShowSlot]:
    """All shows with ids, titles and numbers of seasons, but without facts."""
    slots = [_listed(dice, entry, "named") for entry in listed["shows"]]
    slots += [_listed(dice, entry, "decoy") for entry in listed["shows_decoys"]]
    dice.taken_names |= {slot.title for slot in slots}
    while len(slots) < TOTAL:
        title = names.unique(dice.names, names.title, dice.taken_names)
        entry = {"title": title, "seasons": (1, 5), "country": dice.names.choice(("US", "US", *names.COUNTRIES))}
        slots.append(_listed(dice, entry, "filler"))
    fillers = [slot for slot in slots if slot.kind == "filler" and slot.rich]
    for slot in dice.facts.sample(fillers, k=_ON_THE_AIR):
        slot.on_the_air = True
    return slots


def cast_shows(
    dice: Dice, slots: Sequence[ShowSlot], people: People, listed: Mapping[str, Any], directors: Mapping[str, int]
) -> ShowCasting:
    """Decide where named people appear. `directors` maps film titles that questions compare with to their directors."""
    facts = dice.facts
    by_title = {slot.title: slot for slot in slots if slot.kind == "named"}
    casting = ShowCasting()
    fillers = [slot for slot in slots if slot.kind == "filler" and slot.rich and not slot.on_the_air]
    for entry in listed["people"]:
        person = people.named[entry["name"]]
        for slot in facts.sample(fillers, k=entry.get("tv", 0)):
            casting.actors.setdefault(slot.id, []).append(person)
    free = facts.sample(fillers, k=len(fillers))
    hardwicke = people.named["Catherine Hardwicke"]
    for person in [hardwicke] * 3 + [directors["Mulholland Drive"]] * facts.randint(2, 3):
        slot = free.pop()
        casting.directors[slot.id, facts.randint(1, len(slot.lengths))] = person
    if facts.random() < 0.5:
        casting.directors[by_title["Twin Peaks"].id, 1] = directors["Mulholland Drive"]
    pair = [people.named["Yui Aragaki"], people.named["Gen Hoshino"]]
    casting.actors[by_title["We Married as a Job!"].id] = pair if facts.random() < 0.5 else pair[:1]
    year = (people.table[directors["Barbie"]].birthday or "")[:4]
    casting.lead_pool[by_title["Death Note"].id] = [
        i for i in people.leads if (people.table[i].birthday or "")[:4] != year
    ]
    return casting


def build_show(
    dice: Dice, slot: ShowSlot, rich_ids: Sequence[int], people: People, casting: ShowCasting,
    catalogue: Catalogue, networks: Sequence[int],
) -> Show:  # fmt: skip
    """One show with all its facts."""
    facts = dice.facts
    first = _first_day(dice, slot)
    others = [i for i in rich_ids if i != slot.id]
    cast = _cast(dice, slot, people, casting)
    seasons = [_season(dice, slot, number, first, people, casting) for number in range(1, len(slot.lengths) + 1)]
    if slot.specials:
        seasons.insert(0, _season(dice, slot, 0, first + timedelta(days=40), people, casting))
    crowd = facts.sample(people.crowd, k=facts.randint(4, 9))
    jobs = [facts.choice(names.CREW_JOBS) for _ in crowd]
    return Show(
        id=slot.id,
        title=slot.title,
        language=slot.language,
        country=slot.country,
        date=first.isoformat(),
        overview=names.plot(facts, facts.randint(1, 3)) if slot.rich else "",
        homepage=f"https://{names.slug(slot.title)}.example/show" if facts.random() < 0.7 else "",
        rating=rating(dice, slot),
        genres=some(facts, catalogue.genres, 1, 3),
        keywords=some(facts, catalogue.keywords, 3, 9) if slot.rich else (),
        companies=some(facts, catalogue.companies, 1, 2),
        posters=dice.images(facts.randint(3, 7), 2000, 3000) if slot.rich else (),
        backdrops=dice.images(facts.randint(2, 4), 3840, 2160) if slot.rich else (),
        reviews=reviews(dice, slot) if slot.rich else (),
        similar=some(facts, others, 22, 30) if slot.rich else (),
        recommended=some(facts, others, 21, 26) if slot.rich else (),
        cast=cast,
        crew=tuple(dice.credit(p, job, department) for p, (department, job) in zip(crowd, jobs, strict=True)),
        creators=tuple(dice.credit(p, "Creator", "Writing") for p in facts.sample(people.crowd, k=facts.randint(0, 2))),
        networks=some(facts, networks, 1, 1),
        runtimes=(facts.choice((22, 24, 30, 45, 50, 60)),),
        running=slot.on_the_air,
        seasons=tuple(seasons),
    )


def _listed(dice: Dice, entry: Mapping[str, Any], kind: str) -> ShowSlot:
    draw = dice.facts  # how many seasons and episodes there are is a fact
    least = entry.get("episodes", {})
    count = draw.randint(*entry["seasons"])
    lengths = tuple(max(least.get(n, 0), draw.randint(6, 13)) for n in range(1, count + 1))
    famous = entry.get("famous", False)
    country = entry.get("country", "US")
    return ShowSlot(
        dice.id(),
        entry["title"],
        kind,
        rich=kind == "named" or famous or (kind == "filler" and dice.names.random() < 0.85),
        famous=famous,
        lengths=lengths,
        specials=draw.randint(1, 3) if draw.random() < 0.4 else 0,
        language=entry.get("language", names.LANGUAGES[country]),
        country=country,
        anthology=entry.get("anthology", False),
        single_director=entry.get("one_director"),
    )


def _first_day(dice: Dice, slot: ShowSlot) -> date:
    years = 364 * (len(slot.lengths) - 1)
    if not slot.on_the_air:
        return dice.day(span(date(1975, 1, 1), CLOCK - timedelta(days=years + 200)))
    # Episode `shown + 1` of the last season airs today or within the week; a third of the shows air today.
    ahead = range(1) if dice.facts.random() < 0.3 else range(7)
    shown = range(1, slot.lengths[-1] - 1)
    return dice.day([CLOCK + timedelta(days=a - 7 * s - years) for a in ahead for s in shown])


def _cast(dice: Dice, slot: ShowSlot, people: People, casting: ShowCasting) -> tuple[Credit, ...]:
    facts = dice.facts
    chosen = facts.sample(people.leads if slot.rich else people.crowd, k=facts.randint(6, 14))
    if slot.id in casting.lead_pool:
        lead = facts.choice(casting.lead_pool[slot.id])
        chosen = [lead, *(person for person in chosen if person != lead)]
    for person in casting.actors.get(slot.id, []):
        chosen.insert(facts.randrange(0, 5), person)
    return tuple(dice.credit(person, names.person(facts), order=order) for order, person in enumerate(chosen))


def _season(dice: Dice, slot: ShowSlot, number: int, first: date, people: People, casting: ShowCasting) -> Season:
    facts = dice.facts
    start = first + timedelta(days=364 * max(number - 1, 0))
    length = slot.lengths[number - 1] if number else slot.specials
    directors = facts.sample(people.tv_directors, k=1 if slot.single_director == number else facts.randint(1, 3))
    if (slot.id, number) in casting.directors:
        forced = casting.directors[slot.id, number]
        directors = [forced] if slot.single_director == number else [forced, *directors[:2]]
    writers = facts.sample(people.crowd, k=2)
    episodes = tuple(_episode(dice, slot, at, start, directors, writers, people) for at in range(1, length + 1))
    name = f"Season {number}" if number else "Specials"
    posters = dice.images(facts.randint(2, 4) if slot.rich else 0, 2000, 3000)
    return Season(dice.id(), number, name, names.plot(facts, 1), start.isoformat(), posters, episodes)


def _episode(
    dice: Dice,
    slot: ShowSlot,
    number: int,
    start: date,
    directors: Sequence[int],
    writers: Sequence[int],
    people: People,
) -> Episode:
    facts = dice.facts
    crew = (
        dice.credit(directors[(number - 1) % len(directors)], "Director", "Directing"),
        dice.credit(facts.choice(writers), "Writer", "Writing"),
    )
    guests = facts.sample(people.crowd, k=facts.randint(1, 3))
    own_cast = facts.sample(people.leads, k=facts.randint(4, 7)) if slot.anthology else []
    return Episode(
        id=dice.id(),
        number=number,
        name=names.title(facts),
        overview=names.plot(facts, facts.randint(1, 2)),
        date=(start + timedelta(days=7 * (number - 1))).isoformat(),
        code=f"{facts.randrange(10, 99)}-{number:02d}" if facts.random() < 0.5 else None,
        average=round(facts.uniform(4, 9.5), 3) + 0.0001,
        votes=facts.randrange(0, 400),
        stills=dice.images(facts.randint(1, 3) if slot.rich else 0, 1920, 1080),
        crew=crew,
        guests=tuple(dice.credit(p, names.person(facts), order=100 + at) for at, p in enumerate(guests)),
        cast=tuple(dice.credit(p, names.person(facts), order=at) for at, p in enumerate(own_cast)),
    )
