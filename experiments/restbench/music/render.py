"""Turns entities of the music world into the JSON of the service's description. Bodies of catalogue entities are made
once per world and shared: callers only write them out. Where the description forbids null, a missing value is left
out. It knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from experiments.restbench.music.world import (
    CLOCK,
    Album,
    Artist,
    Catalogue,
    Device,
    Item,
    Playlist,
    State,
    Track,
    User,
    World,
)

Json = dict[str, Any]
BASE = "https://api.spotify.com/v1"
NOW_MS: Final = int(CLOCK.timestamp() * 1000)
_GROUPS = {"album": "albums", "track": "tracks", "artist": "artists", "playlist": "playlists", "user": "users"}


@cache
def _markets() -> list[str]:
    rows = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))["markets"]
    return [str(code) for row in rows for code in row]


class Renderer:
    """Bodies of one catalogue, kept once made."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._made: dict[tuple[str, str], Json] = {}

    def _once(self, kind: str, key: str, make: Callable[[], Json]) -> Json:
        body = self._made.get((kind, key))
        if body is None:
            body = self._made[kind, key] = make()
        return body

    def artist_link(self, key: str) -> Json:
        """An artist as albums and album tracks name it."""
        return self._once(
            "artist_link", key, lambda: {**_head("artist", key), "name": self.catalogue.artists[key].name}
        )

    def artist(self, key: str) -> Json:
        """An artist in full."""
        return self._once("artist", key, lambda: self._artist(self.catalogue.artists[key]))

    def _artist(self, artist: Artist) -> Json:
        return {
            **self.artist_link(artist.id),
            "followers": {"href": None, "total": artist.followers},
            "genres": list(artist.genres),
            "images": _images(artist.id) if artist.popularity > 15 else [],
            "popularity": artist.popularity,
        }

    def album_item(self, key: str) -> Json:
        """An album as lists and tracks show it."""
        return self._once("album_item", key, lambda: self._album_item(self.catalogue.albums[key]))

    def _album_item(self, album: Album) -> Json:
        return {
            **_head("album", album.id),
            "album_type": album.kind,
            "artists": [self.artist_link(artist) for artist in album.artists],
            "available_markets": _markets(),
            "images": _images(album.id),
            "name": album.title,
            "release_date": album.date,
            "release_date_precision": "day" if len(album.date) > 4 else "year",
            "total_tracks": len(album.tracks),
        }

    def album(self, key: str) -> Json:
        """An album in full, without its page of tracks."""
        return self._once("album", key, lambda: self._album(self.catalogue.albums[key]))

    def _album(self, album: Album) -> Json:
        sign = "CP"[album.popularity % 2]
        return {
            **self.album_item(album.id),
            "artists": [self.artist(artist) for artist in album.artists],
            "copyrights": [{"text": f"{album.date[:4]} {album.label}", "type": sign}],
            "external_ids": {"upc": str(int.from_bytes(album.id.encode()[:6], "big"))[:12]},
            "genres": [],
            "label": album.label,
            "popularity": album.popularity,
        }

    def track_item(self, key: str) -> Json:
        """A track as its album lists it."""
        return self._once("track_item", key, lambda: self._track_item(self.catalogue.tracks[key]))

    def _track_item(self, track: Track) -> Json:
        preview = {"preview_url": f"https://audio.example/{track.id}.mp3"} if track.preview else {}
        return {
            **_head("track", track.id),
            "artists": [self.artist_link(artist) for artist in track.artists],
            "available_markets": _markets(),
            "disc_number": 1,
            "duration_ms": track.duration,
            "explicit": track.explicit,
            "is_local": False,
            "name": track.title,
            "track_number": track.number,
            **preview,
        }

    def track(self, key: str) -> Json:
        """A track in full, with its album."""
        return self._once("track", key, lambda: self._track(self.catalogue.tracks[key]))

    def _track(self, track: Track) -> Json:
        return {
            **self.track_item(track.id),
            "album": self.album_item(track.album),
            "external_ids": {"isrc": f"XX{track.id[:10].upper()}"},
            "popularity": track.popularity,
        }


@lru_cache(maxsize=8)
def renderer(catalogue: Catalogue) -> Renderer:
    """The renderer of a catalogue."""
    return Renderer(catalogue)


def saved_track(world: World, item: Item) -> Json:
    """A track of the library."""
    return {"added_at": item.at, "track": renderer(world.catalogue).track(item.id)}


def playlist_item(world: World, item: Item) -> Json:
    """A track of a playlist."""
    return {
        "added_at": item.at,
        "added_by": _head("user", item.by),
        "is_local": False,
        "track": renderer(world.catalogue).track(item.id),
    }


def played(world: World, item: Item) -> Json:
    """A track of the history; it was played from its album."""
    track = world.catalogue.tracks[item.id]
    context = context_of(f"spotify:album:{track.album}")
    return {"context": context, "played_at": item.at, "track": renderer(world.catalogue).track(item.id)}


def playlist(each: Playlist, full: bool) -> Json:
    """A playlist without its tracks; in a list, a missing description is left out."""
    text = {"description": each.description} if full or each.description is not None else {}
    return {
        **_head("playlist", each.id),
        "collaborative": each.collaborative,
        **text,
        "images": [{"url": f"https://image.example/mosaic/{each.id}", "height": None, "width": None}],
        "name": each.name,
        "owner": {**_head("user", each.owner.id), "display_name": each.owner.name},
        "public": each.public,
        "snapshot_id": each.snapshot(),
        **({"followers": {"href": None, "total": 0}} if full else {}),
    }


def tracks_link(each: Playlist) -> Json:
    """Where a listed playlist's tracks are to be had."""
    return {"href": f"{BASE}/playlists/{each.id}/tracks", "total": len(each.items)}


def user(each: User) -> Json:
    """The account's own profile."""
    return {
        **_head("user", each.id),
        "country": each.country,
        "display_name": each.name,
        "email": f"{each.id}@mail.example",
        "explicit_content": {"filter_enabled": False, "filter_locked": False},
        "followers": {"href": None, "total": each.followers},
        "images": [],
        "product": "premium",
    }


def device(each: Device, active: str) -> Json:
    """A device."""
    return {
        "id": each.id,
        "is_active": each.id == active,
        "is_private_session": False,
        "is_restricted": False,
        "name": each.name,
        "type": each.kind,
        "volume_percent": each.volume,
    }


def playback(world: World) -> Json:
    """What is played now."""
    player = world.state.player
    return {
        **({} if player.context is None else {"context": context_of(player.context)}),
        "currently_playing_type": "track",
        "is_playing": player.playing,
        "item": renderer(world.catalogue).track(player.track),
        "progress_ms": player.progress,
        "timestamp": NOW_MS,
        "actions": {"resuming": player.playing, "pausing": not player.playing},
    }


def player_state(world: World) -> Json:
    """What is played now, and how and where."""
    player = world.state.player
    return {
        **playback(world),
        "device": device(player.device, player.active),
        "repeat_state": player.repeat,
        "shuffle_state": player.shuffle,
    }


def queue(world: World, state: State, longest: int = 20) -> Json:
    """The current track and what follows it."""
    bodies = renderer(world.catalogue)
    following = (*state.player.queued, *state.player.after)[:longest]
    return {"currently_playing": bodies.track(state.player.track), "queue": [bodies.track(key) for key in following]}


def page(items: Sequence[Any], path: str, asked: Mapping[str, Any], make: Callable[[Any], Json]) -> Json:
    """One page of a list. `asked` holds `limit`, `offset` and whatever else belongs into the page's address."""
    limit, offset = asked["limit"], asked["offset"]

    def address(start: int) -> str:
        rest = "&".join(f"{name}={value}" for name, value in {**asked, "offset": start, "limit": limit}.items())
        return f"{BASE}{path}?{rest}"

    return {
        "href": address(offset),
        "items": [make(item) for item in items[offset : offset + limit]],
        "limit": limit,
        "next": address(offset + limit) if offset + limit < len(items) else None,
        "offset": offset,
        "previous": address(max(offset - limit, 0)) if offset > 0 else None,
        "total": len(items),
    }


def context_of(uri: str) -> Json:
    """The album, artist or playlist that is being played."""
    kind, key = uri.split(":")[1:3]
    body = _head(kind, key)
    return {name: body[name] for name in ("external_urls", "href", "type", "uri")}


def _head(kind: str, key: str) -> Json:
    return {
        "external_urls": {"spotify": f"https://open.spotify.com/{kind}/{key}"},
        "href": f"{BASE}/{_GROUPS[kind]}/{key}",
        "id": key,
        "type": kind,
        "uri": f"spotify:{kind}:{key}",
    }


def _images(key: str) -> list[Json]:
    return [{"url": f"https://image.example/{key}/{side}", "height": side, "width": side} for side in (640, 300, 64)]
