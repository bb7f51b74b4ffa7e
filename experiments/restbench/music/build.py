"""Draws the catalogue of a music world from a seed: the artists that questions name, those that resemble them, and
fillers, each with albums and tracks. Two streams of chance: one for who and what exists (names, ids), one for what is
true (dates, order, popularity); a counterfactual world has the same first stream and another second one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import yaml

from experiments.restbench.music.initial import initial_state
from experiments.restbench.music.world import (
    CLOCK,
    Album,
    Artist,
    Catalogue,
    Item,
    Playlist,
    Track,
    User,
    World,
    base62,
)

_HERE = Path(__file__).parent
_RANGES = ("short_term", "medium_term", "long_term")
_FILLERS, _PLAYLISTS, _COMPILATIONS = 90, 40, 3
_FIRST_DAY = date(1965, 1, 1)

# kind of artist -> range of popularity; famous decoys stand before what they resemble
_FAME = {"named": (60, 80), "famous": (86, 99), "obscure": (1, 9), "filler": (10, 55), "quiet": (10, 55)}


@dataclass
class Draft:
    """A catalogue in the making, with its two streams and the word lists."""

    names: Random
    facts: Random
    words: Mapping[str, list[str]]
    artists: dict[str, Artist] = field(default_factory=dict)
    albums: dict[str, Album] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    days: set[str] = field(default_factory=set)
    titles: set[str] = field(default_factory=set)

    def id(self) -> str:
        """A 22-character id."""
        return base62(self.names.getrandbits(132))

    def title(self) -> str:
        """A title that this world has not used yet."""
        while True:
            first, second = self.names.sample(self.words["nouns"], k=2)
            adjective = self.names.choice(self.words["adjectives"])
            forms = (f"{adjective} {first}", f"{first} in the {second}", f"{adjective} {first} and {second}")
            drawn = self.names.choice(forms)
            if drawn not in self.titles:
                self.titles.add(drawn)
                return drawn

    def day(self) -> str:
        """A day before the clock that no other album of this world has."""
        while True:
            span = (CLOCK.date() - _FIRST_DAY).days - 30
            drawn = (_FIRST_DAY + timedelta(days=self.facts.randrange(span))).isoformat()
            if drawn not in self.days:
                self.days.add(drawn)
                return drawn


@lru_cache(maxsize=4)
def build(seed: int, counterfactual: bool = False) -> World:
    """The world of a seed in its initial state: about 130 artists and 5000 tracks. Equal calls, equal worlds."""
    listed: dict[str, Any] = yaml.safe_load((_HERE / "named.yaml").read_text(encoding="utf-8"))
    raw = yaml.safe_load((_HERE / "words.yaml").read_text(encoding="utf-8"))
    words = {key: list(chain.from_iterable(w if isinstance(w, list) else [w] for w in raw[key])) for key in raw}
    facts = Random(f"music/{seed}/facts/{int(counterfactual)}")
    draft = Draft(Random(f"music/{seed}/names"), facts, words)
    _artists(draft, listed)
    _compilations(draft, [entry["name"] for entry in listed["artists"]])
    _raise_duet(draft, listed)
    _relate(draft)
    user = _user(draft)
    playlists = _playlists(draft)
    favourites = _favourites(draft)
    tops = {span: _affine(draft, favourites[span]) for span in _RANGES}
    catalogue = Catalogue(
        seed, counterfactual, draft.artists, draft.albums, draft.tracks, playlists, user, favourites, tops
    )
    return World(catalogue, initial_state(catalogue, listed, draft.names, draft.facts))


def _artists(draft: Draft, listed: Mapping[str, Any]) -> None:
    duet = listed["duet"]
    for entry in listed["artists"]:
        _artist(draft, entry, "named", [duet["title"]] if entry["name"] == duet["artists"][0] else [])
    for kind in ("famous", "obscure"):
        for entry in listed[f"{kind}_decoys"]:
            _artist(draft, {"count": 2, **entry}, kind)
    for at in range(_FILLERS):
        quiet = at < 6
        pool = draft.words["quiet_genres" if quiet else "genres"]
        albums: dict[str, list[str]] = (
            {draft.words["quiet_albums"][at]: []} if at < len(draft.words["quiet_albums"]) else {}
        )
        genres = draft.names.sample(pool, k=draft.names.randint(1, 2))
        entry = {"name": _artist_name(draft), "genres": genres, "count": draft.names.randint(1, 4), "albums": albums}
        _artist(draft, entry, "quiet" if quiet else "filler")


def _artist_name(draft: Draft) -> str:
    if draft.names.random() < 0.4:
        return f"The {draft.title()}s"
    return f"{draft.names.choice(draft.words['first_names'])} {draft.names.choice(draft.words['last_names'])}"


def _artist(draft: Draft, entry: Mapping[str, Any], kind: str, extra: Sequence[str] = ()) -> None:
    key, low_high = draft.id(), _FAME[kind]
    popularity = draft.facts.randint(*low_high)
    genres = tuple(entry["genres"])
    draft.artists[key] = Artist(key, entry["name"], genres, popularity, popularity**3 * draft.facts.randint(3, 30))
    named = {**entry.get("albums", {}), **entry.get("singles", {})}
    releases = [(title, list(tracks), title in entry.get("singles", {})) for title, tracks in named.items()]
    releases += [(draft.title(), [], False) for _ in range(entry.get("count", 0))]
    if extra:
        releases[-1][1].extend(extra)
    made = [_album(draft, key, kind, title, tracks, single, title not in named) for title, tracks, single in releases]
    _newest_is_album(draft, made)


def _album(draft: Draft, artist: str, kind: str, title: str, named: Sequence[str], single: bool, drawn: bool) -> Album:
    key = draft.id()
    form = "single" if single or (drawn and draft.names.random() < 0.25) else "album"
    total = max(
        len(named), 1 if single else draft.names.randint(2, 4) if form == "single" else draft.names.randint(7, 14)
    )
    titles = [*named, *(_track_title(draft, kind) for _ in range(total - len(named)))]
    ids = [draft.id() for _ in titles]
    order = list(zip(ids, titles, strict=True))
    draft.facts.shuffle(order)
    for number, (track, name) in enumerate(order, 1):
        draft.tracks[track] = _track(draft, track, name, (artist, *_guests(draft, kind, name)), key, number, kind)
    low, high = _FAME[kind]
    album = Album(
        key, title, form, (artist,), _date(draft, kind), draft.facts.choice(draft.words["labels"]),
        draft.facts.randint(low, high), tuple(track for track, _ in order),
    )  # fmt: skip
    draft.albums[key] = album
    return album


def _track_title(draft: Draft, kind: str) -> str:
    if kind == "quiet" and draft.names.random() < 0.4:
        return draft.names.choice(draft.words["quiet_titles"])
    return draft.title()


def _guests(draft: Draft, kind: str, name: str) -> tuple[str, ...]:
    """Sometimes a filler artist has another filler artist on a track."""
    if kind != "filler" or draft.facts.random() > 0.08:
        return ()
    known = list(draft.artists)[-20:-1]
    return (draft.facts.choice(known),)


def _track(draft: Draft, key: str, title: str, artists: tuple[str, ...], album: str, number: int, kind: str) -> Track:
    facts = draft.facts
    low, high = _FAME[kind]
    unique = tuple(dict.fromkeys(artists))
    popularity = facts.randint(low if kind == "famous" else max(low - 40, 0), high - 2)
    return Track(
        key, title, unique, album, number, facts.randint(95_000, 420_000), facts.random() < 0.1, popularity,
        facts.random() < 0.8,
    )  # fmt: skip


def _date(draft: Draft, kind: str) -> str:
    day = draft.day()
    return day[:4] if kind == "filler" and day < "1980" else day


def _newest_is_album(draft: Draft, made: Sequence[Album]) -> None:
    """Give the newest date to a full album, so that "the newest album" is no matter of taste."""
    newest = max(made, key=lambda album: album.date)
    albums = [album for album in made if album.kind == "album"]
    if newest.kind != "album" and albums:
        best = max(albums, key=lambda album: album.date)
        draft.albums[best.id] = replace(best, date=newest.date)
        draft.albums[newest.id] = replace(newest, date=best.date)


def _compilations(draft: Draft, names: Sequence[str]) -> None:
    """Newer than anything else, by Various Artists: what an artist only appears on is not the artist's album."""
    host = Artist(draft.id(), "Various Artists", (), 50, 0)
    draft.artists[host.id] = host
    known = [artist.id for artist in draft.artists.values() if artist.name in names and artist.popularity > 50]
    for number in range(_COMPILATIONS):
        key = draft.id()
        ids = [draft.id() for _ in known]
        for place, (track, artist) in enumerate(zip(ids, known, strict=True), 1):
            draft.tracks[track] = _track(draft, track, draft.title(), (artist,), key, place, "filler")
        day = (CLOCK.date() - timedelta(days=5 + number)).isoformat()
        title = f"Now Hear This {40 - number}"
        draft.albums[key] = Album(key, title, "compilation", (host.id,), day, draft.words["labels"][0], 40, tuple(ids))


def _raise_duet(draft: Draft, listed: Mapping[str, Any]) -> None:
    """The duet is sung by both and very well known; the song now playing is not among its artist's best known."""
    duet, first = listed["duet"], _by_name(draft, listed["duet"]["artists"][0])
    singers = tuple(_by_name(draft, name).id for name in duet["artists"])
    song = next(t for t in draft.tracks.values() if t.title == duet["title"] and t.artists[0] == first.id)
    draft.tracks[song.id] = replace(song, artists=singers, popularity=draft.facts.randint(80, 84))
    album = next(album for album in draft.albums.values() if album.title == listed["playing"])
    opener = draft.tracks[album.tracks[0]]
    draft.tracks[opener.id] = replace(opener, popularity=draft.facts.randint(5, 15))


def _by_name(draft: Draft, name: str) -> Artist:
    return max((a for a in draft.artists.values() if a.name == name), key=lambda artist: artist.popularity)


def _relate(draft: Draft) -> None:
    known = list(draft.artists)
    for key, artist in list(draft.artists.items()):
        others = draft.facts.sample([other for other in known if other != key], k=20)
        draft.artists[key] = replace(artist, related=tuple(others))


def _user(draft: Draft) -> User:
    first, last = draft.facts.choice(draft.words["first_names"]), draft.facts.choice(draft.words["last_names"])
    return User(f"31{draft.id().lower()}", f"{first} {last}", "US", draft.facts.randint(3, 90))


def _playlists(draft: Draft) -> dict[str, Playlist]:
    """Public playlists of other people; some are named like the user's own."""
    made: dict[str, Playlist] = {}
    names = [*draft.words["playlist_names"], "My Rock", "My R&B", "Quiet Evenings", "Quiet", "My First"]
    known = list(draft.tracks)
    quiet = [t.id for t in draft.tracks.values() if set(draft.artists[t.artists[0]].genres) & _quiet(draft)]
    for at in range(_PLAYLISTS):
        key, name = draft.id(), names[at % len(names)]
        owner = User(f"user{draft.id().lower()[:12]}", None if at % 5 == 0 else _artist_name(draft))
        chosen = draft.facts.sample(quiet if "Quiet" in name else known, k=draft.facts.randint(8, 40))
        items = tuple(Item(track, f"2023-{1 + at % 12:02d}-15T08:00:00Z", owner.id) for track in chosen)
        made[key] = Playlist(key, name, None if at % 3 == 0 else f"{name} for every day", owner, True, items)
    return made


def _quiet(draft: Draft) -> set[str]:
    return set(draft.words["quiet_genres"])


def _favourites(draft: Draft) -> dict[str, tuple[str, ...]]:
    """Per time range the user's best liked artists; the very best is the same in all."""
    liked = draft.facts.sample([a.id for a in draft.artists.values() if a.genres and a.popularity < 81], k=30)
    found = {}
    for span in _RANGES:
        rest = liked[1:]
        draft.facts.shuffle(rest)
        found[span] = (liked[0], *rest)
    return found


def _affine(draft: Draft, artists: Sequence[str]) -> tuple[str, ...]:
    own = [t.id for t in draft.tracks.values() if t.artists[0] in artists[:15]]
    return tuple(draft.facts.sample(own, k=min(50, len(own))))
