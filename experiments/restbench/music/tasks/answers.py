"""For each kind of question that only reads, the answers that are right in a given world, as forms with their evidence.
How a text or a log is read is the business of `expect`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.restbench.expect import MANY, Both, Dates, Expected, Form, Names, Number, Verbatim
from experiments.restbench.music.tasks.truth import resolve
from experiments.restbench.music.world import World
from experiments.restbench.oracle import Fact, Leaf, Seen, Task

Expect = Callable[[World, Task], list[Expected]]


@dataclass(frozen=True)
class AnyOf:
    """At least one of several forms."""

    forms: tuple[Form, ...]

    @property
    def breadth(self) -> int:
        """See `expect.Form`."""
        return MANY

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See `expect.Form`: the fault of the first form when all have one."""
        faults = [form.fault(answer, seen) for form in self.forms]
        return None if None in faults else faults[0]


def acceptable(world: World, task: Task) -> list[Expected]:
    """All acceptable answers to a reading task in this world."""
    return KINDS[task.kind](world, task)


def _names(world: World, task: Task) -> list[Expected]:
    """Enough of the names at the chain's end. What it went through last must have been shown, entity and all."""
    chain = task.params["of"]
    found = resolve(world, chain)
    table = _table(world, found[0])
    values = tuple(dict.fromkeys(table[key] for key in found))
    asked = task.query.casefold()
    rivals = tuple(name for name in dict.fromkeys(table.values()) if name.casefold() not in asked)
    form = Names(values, task.params["need"], rivals)
    if len(found) <= task.params["need"]:
        return [Expected(form, tuple(Fact(key, "id", key) for key in found))]
    before = resolve(world, chain[:-1])
    return [Expected(form, (Fact(before[0], "id", before[0]),))]


def _table(world: World, key: str) -> Mapping[str, str]:
    """The names of all entities of the kind that this id has."""
    known = world.catalogue
    if key in known.artists:
        return {each.id: each.name for each in known.artists.values()}
    if key in known.albums:
        return {each.id: each.title for each in known.albums.values()}
    return {each.id: each.title for each in known.tracks.values()}


def _album_facts(world: World, task: Task) -> list[Expected]:
    """The album's title and one fact about it: artist, date, number of tracks or label."""
    known = world.catalogue
    album = known.albums[resolve(world, task.params["of"])[0]]
    title = Names((album.title,), 1, tuple(each.title for each in known.albums.values()))
    facts: list[Any] = [Names((known.artists[key].name,)) for key in album.artists]
    facts += [Number(len(album.tracks)), Verbatim(album.label)]
    facts += [Dates((album.date,))] if len(album.date) > 4 else []
    return [Expected(Both(title, AnyOf(tuple(facts))), (Fact(album.id, "id", album.id),))]


def _user_name(world: World, task: Task) -> list[Expected]:
    user = world.catalogue.user
    shown = Fact(user.id, "id", user.id)
    names = [Names((user.name,))] if user.name else []
    return [*(Expected(form, (shown, Leaf(user.id))) for form in names), Expected(Verbatim(user.id), (shown,))]


KINDS: dict[str, Expect] = {"names": _names, "album_facts": _album_facts, "user_name": _user_name}
