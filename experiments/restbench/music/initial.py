"""The state in which every episode begins: the one that RestBench's set-up script means to reach, with a device "My
PC", a queue and a listening history. Orders and levels that the script leaves open are drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

from experiments.restbench.music.world import CLOCK, Catalogue, Device, Item, Player, Playlist, State, base62


def initial_state(catalogue: Catalogue, listed: Mapping[str, Any], names: Random, facts: Random) -> State:
    """The account before anything is asked of it. `listed` is the content of named.yaml."""
    known = {name: best_known(catalogue, name) for name in listed["following"]}
    saved = [track for name in listed["library"] for track in catalogue.tracks_of[known[name]][:3]]
    albums = [album.id for album in catalogue.albums.values() if album.title in listed["saved_albums"]]
    following = list(known.values())
    own = [_own(catalogue, base62(names.getrandbits(132)), name, known[of]) for name, of in listed["playlists"].items()]
    for order in (saved, albums, following, own):
        facts.shuffle(order)
    others = [each.id for each in catalogue.playlists.values() if each.name not in listed["playlists"]]
    return State(
        tracks=_dated(saved, 3),
        albums=_dated(albums, 20),
        artists=tuple(following),
        users=(),
        playlists=tuple(own),
        subscribed=tuple(facts.sample(others, k=3)),
        player=_player(catalogue, listed["playing"], names, facts),
        history=_history(catalogue, known, facts),
    )


def best_known(catalogue: Catalogue, name: str) -> str:
    """The id of the most popular artist of exactly that name."""
    same = [artist for artist in catalogue.artists.values() if artist.name == name]
    return max(same, key=lambda artist: artist.popularity).id


def _own(catalogue: Catalogue, key: str, name: str, artist: str) -> Playlist:
    items = [Item(item.id, item.at, catalogue.user.id) for item in _dated(catalogue.tracks_of[artist][:3], 7)]
    return Playlist(key, name, None, catalogue.user, True, tuple(items))


def _dated(ids: list[str] | tuple[str, ...], step: int) -> tuple[Item, ...]:
    """Items with dates that go back in time by `step` hours each."""
    return tuple(
        Item(key, (CLOCK - timedelta(days=2, hours=step * at)).strftime("%Y-%m-%dT%H:%M:%SZ"))
        for at, key in enumerate(ids)
    )


def _player(catalogue: Catalogue, title: str, names: Random, facts: Random) -> Player:
    volume = facts.choice([level for level in range(35, 76) if level % 10])
    devices = (
        Device(f"{names.getrandbits(160):040x}", "Kitchen Speaker", "Speaker", None),
        Device(f"{names.getrandbits(160):040x}", "My PC", "Computer", volume),
        Device(f"{names.getrandbits(160):040x}", "Old Phone", "Smartphone", facts.randrange(101)),
    )
    album = next(album for album in catalogue.albums.values() if album.title == title)
    others = [track.id for track in catalogue.tracks.values() if track.popularity > 40 and track.album != album.id]
    return Player(
        devices=devices,
        active=devices[1].id,
        playing=True,
        track=album.tracks[0],
        context=f"spotify:album:{album.id}",
        before=(),
        after=album.tracks[1:],
        queued=tuple(facts.sample(others, k=3)),
        repeat="off",
        shuffle=False,
        progress=facts.randrange(5_000, 90_000),
    )


def _history(catalogue: Catalogue, known: Mapping[str, str], facts: Random) -> tuple[Item, ...]:
    """What was played before, latest first; the latest is by an artist whom the user does not follow."""
    pool = [track for track in catalogue.tracks.values() if not set(track.artists) & set(known.values())]
    solo = [track for track in pool if len(track.artists) == 1]
    chosen = [facts.choice(solo), *facts.sample(pool, k=49)]
    times = (CLOCK - timedelta(minutes=5 + 4 * at) for at in range(len(chosen)))
    return tuple(Item(t.id, at.strftime("%Y-%m-%dT%H:%M:%S.000Z")) for t, at in zip(chosen, times, strict=True))
