"""Draws the people of a world, and who may be cast as what. Works are not known here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from experiments.restbench.movies import names
from experiments.restbench.movies.draw import Dice
from experiments.restbench.movies.world import Person

TOTAL = 1500
_DIRECTORS = 70


@dataclass(frozen=True)
class People:
    """Everyone by id, and the pools that casting draws from; those who are named in questions are in no pool."""

    table: Mapping[int, Person]
    named: Mapping[str, int]  # name in a question -> id of the person meant
    leads: tuple[int, ...]  # filler actors with dates, places and pictures
    directors: tuple[int, ...]  # filler directors, likewise
    tv_directors: tuple[int, ...]
    crowd: tuple[int, ...]  # everybody else, decoys included


def build_people(dice: Dice, listed: Mapping[str, Any]) -> People:
    """The people of the data table, their decoys, and fillers up to TOTAL."""
    everyone: dict[int, Person] = {}
    named: dict[str, int] = {}
    for entry in listed["people"]:
        person = _person(dice, entry["name"], entry["gender"], entry["department"], True, (12, 70))
        everyone[person.id] = person
        named[entry["name"]] = person.id
        dice.taken_names.add(entry["name"])
    crowd: list[int] = []
    for entry in listed["people_decoys"]:
        fame = (80, 110) if entry.get("famous") else (0.6, 4)
        person = _person(dice, entry["name"], entry["gender"], entry["department"], True, fame)
        everyone[person.id] = person
        dice.taken_names.add(entry["name"])
        crowd.append(person.id)
    fillers = [_filler(dice, index) for index in range(TOTAL - len(everyone))]
    everyone.update({person.id: person for person in fillers})
    rich = [person.id for person in fillers if person.birthday is not None]
    directors = tuple(i for i in rich if everyone[i].department == "Directing")
    leads = tuple(i for i in rich if everyone[i].department == "Acting")
    crowd += [person.id for person in fillers]
    half = len(directors) // 2
    return People(everyone, named, leads, directors[:half], directors[half:], tuple(crowd))


def _filler(dice: Dice, index: int) -> Person:
    name = names.unique(dice.names, names.person, dice.taken_names)
    gender = dice.names.choice((1, 2, 1, 2, 0))
    director = index < _DIRECTORS
    rich = director or dice.names.random() < 0.65
    department = "Directing" if director else dice.names.choice(names.DEPARTMENTS)
    fame = (130, 300) if rich and index % 40 == 39 else (3, 90) if rich else (0.6, 3)
    return _person(dice, name, gender, department, rich, fame)


def _person(dice: Dice, name: str, gender: int, department: str, rich: bool, fame: tuple[float, float]) -> Person:
    facts = dice.facts
    birthday = date(1930, 1, 1) + timedelta(days=facts.randrange(365 * 70)) if rich else None
    died = birthday is not None and birthday.year < 1950 and department != "Directing" and facts.random() < 0.2
    return Person(
        id=dice.id(),
        name=name,
        gender=gender,
        department=department,
        birthday=birthday.isoformat() if birthday else None,
        deathday=date(facts.randrange(2001, 2023), 5, facts.randrange(1, 28)).isoformat() if died else None,
        birthplace=names.place(facts) if rich else None,
        biography=names.plot(facts, facts.randint(1, 4)) if rich else "",
        popularity=dice.number(*fame),
        imdb_id=dice.imdb_id("nm"),
        homepage=f"https://{names.slug(name)}.example" if facts.random() < 0.1 else None,
        images=dice.images(facts.randint(2, 5) if rich else facts.randint(0, 1), 1000, 1500),
    )
