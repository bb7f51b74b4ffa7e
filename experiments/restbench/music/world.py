"""The simulated music service as plain data: a catalogue that never changes, and the state of one account, which does.
A world is the two together. Both are frozen: a write makes a new state, so that a reset or a snapshot costs nothing.
How a world is drawn (`build`), looks over HTTP (`render`) or is changed (`writes`) is not said here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

CLOCK = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)  # "now" in every world
NOW = CLOCK.strftime("%Y-%m-%dT%H:%M:%SZ")
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOP_TRACKS = 10


@dataclass(frozen=True, slots=True)
class Artist:
    """A singer or band. `popularity` is 0 to 100."""

    id: str
    name: str
    genres: tuple[str, ...]
    popularity: int
    followers: int
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Album:
    """A release; `kind` is album, single or compilation, `date` a day or, when old, a bare year."""

    id: str
    title: str
    kind: str
    artists: tuple[str, ...]
    date: str
    label: str
    popularity: int
    tracks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """A song on one album; the first of `artists` is the main one. Some have no preview."""

    id: str
    title: str
    artists: tuple[str, ...]
    album: str
    number: int
    duration: int  # milliseconds
    explicit: bool
    popularity: int
    preview: bool


@dataclass(frozen=True, slots=True)
class User:
    """An account; strangers may have no display name."""

    id: str
    name: str | None
    country: str = "US"
    followers: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A track in a library, a history or a playlist: its id, when and by whom it was put there."""

    id: str
    at: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Playlist:
    """A playlist; every change counts `version` up, from which its snapshot id follows."""

    id: str
    name: str
    description: str | None
    owner: User
    public: bool
    items: tuple[Item, ...]
    collaborative: bool = False
    version: int = 0

    @property
    def uri(self) -> str:
        """The playlist's URI."""
        return f"spotify:playlist:{self.id}"

    def snapshot(self, version: int | None = None) -> str:
        """The snapshot id of a version, of the current one when none is given."""
        wanted = self.version if version is None else version
        return hashlib.sha256(f"{self.id}/{wanted}".encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class Device:
    """Something that plays. `volume` is None where it cannot be set."""

    id: str
    name: str
    kind: str
    volume: int | None


@dataclass(frozen=True, slots=True)
class Player:
    """What is played: `before` and `after` are the context's other tracks, `queued` what the user has put in front."""

    devices: tuple[Device, ...]
    active: str
    playing: bool
    track: str
    context: str | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    queued: tuple[str, ...]
    repeat: str
    shuffle: bool
    progress: int  # milliseconds

    @property
    def device(self) -> Device:
        """The active device."""
        return next(device for device in self.devices if device.id == self.active)


@dataclass(frozen=True, slots=True)
class State:
    """One account at one moment. Lists stand in the order in which the service shows them, newest first."""

    tracks: tuple[Item, ...]
    albums: tuple[Item, ...]
    artists: tuple[str, ...]
    users: tuple[str, ...]
    playlists: tuple[Playlist, ...]
    subscribed: tuple[str, ...]  # playlists of others
    player: Player
    history: tuple[Item, ...]
    created: int = 0  # playlists made so far


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What exists whatever the account does, by id; the same for equal (`seed`, `counterfactual`)."""

    seed: int
    counterfactual: bool
    artists: Mapping[str, Artist]
    albums: Mapping[str, Album]
    tracks: Mapping[str, Track]
    playlists: Mapping[str, Playlist]
    user: User
    top_artists: Mapping[str, tuple[str, ...]]  # by time range
    top_tracks: Mapping[str, tuple[str, ...]]

    @cached_property
    def tracks_of(self) -> Mapping[str, tuple[str, ...]]:
        """Per artist every track the artist takes part in, best known first."""
        found: dict[str, list[Track]] = {}
        for track in self.tracks.values():
            for artist in track.artists:
                found.setdefault(artist, []).append(track)
        return {artist: tuple(t.id for t in sorted(own, key=lambda t: -t.popularity)) for artist, own in found.items()}

    @cached_property
    def albums_of(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Per artist (group, album id): own albums, singles, compilations, then those the artist appears on."""
        found: dict[str, dict[str, str]] = {}
        for album in self.albums.values():
            for artist in album.artists:
                found.setdefault(artist, {})[album.id] = album.kind
        for track in self.tracks.values():
            for artist in track.artists:
                found.setdefault(artist, {}).setdefault(track.album, "appears_on")
        order = ("album", "single", "compilation", "appears_on")
        return {
            artist: tuple(sorted(((group, key) for key, group in own.items()), key=lambda each: order.index(each[0])))
            for artist, own in found.items()
        }

    def newest_album(self, artist: str) -> Album:
        """The artist's latest own release; it is always of the kind album for artists that the questions name."""
        own = [self.albums[key] for group, key in self.albums_of[artist] if group != "appears_on"]
        return max(own, key=lambda album: album.date)

    def new_id(self, purpose: str) -> str:
        """A 22-character id that follows from the seed and a purpose."""
        number = int.from_bytes(hashlib.sha256(f"{self.seed}/{self.user.id}/{purpose}".encode()).digest(), "big")
        return base62(number)


@dataclass(frozen=True, eq=False)
class World:
    """A catalogue and the state of the account."""

    catalogue: Catalogue
    state: State

    def at(self, state: State) -> World:
        """The same world in another state."""
        return replace(self, state=state)

    def playlist(self, key: str) -> Playlist | None:
        """A playlist by id, the user's own or a public one."""
        own = next((each for each in self.state.playlists if each.id == key), None)
        return own or self.catalogue.playlists.get(key)


def base62(number: int) -> str:
    """The last 22 base-62 digits of a number."""
    digits = []
    for _ in range(22):
        number, rest = divmod(number, 62)
        digits.append(ALPHABET[rest])
    return "".join(digits)
