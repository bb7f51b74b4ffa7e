"""The player's rules as functions from player to player: starting, pausing, skipping, volume. What the service calls a
restriction (pausing what is paused, resuming what plays) is refused with 403.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.restbench.music.request import Refused, known_id, uri_id, whole
from experiments.restbench.music.world import TOP_TRACKS, Device, Player, World

_CONTEXTS = ("album", "artist", "playlist")
_LONGEST = 100
_LAST_MS = 10**8


def device(player: Player, key: str) -> Device:
    """A device by id; 404 when there is none."""
    found = next((each for each in player.devices if each.id == key), None)
    if found is None:
        raise Refused(404, "Device not found")
    return found


def set_volume(player: Player, target: Device, level: int) -> Player:
    """The player with another volume; 403 for a device without one."""
    if target.volume is None:
        raise Refused(403, "Player command failed: Cannot control device volume", "VOLUME_CONTROL_DISALLOW")
    return replace(
        player, devices=tuple(replace(each, volume=level) if each == target else each for each in player.devices)
    )


def pause(player: Player) -> Player:
    """The player at rest."""
    if not player.playing:
        raise _restricted()
    return replace(player, playing=False)


def start(world: World, player: Player, body: Mapping[str, Any]) -> Player:
    """Start what the body names (`context_uri`, or `uris`; `offset`, `position_ms`); without either, resume."""
    context, uris = body.get("context_uri"), body.get("uris")
    position = body.get("position_ms")
    progress = 0 if position is None else whole(position, "position_ms", 0, _LAST_MS)
    if context is not None and uris is not None:
        raise Refused(400, "Only one of context_uri and uris may be given")
    if context is None and uris is None:
        if player.playing and player.active == world.state.player.active:
            raise _restricted()
        return replace(player, playing=True, progress=player.progress if position is None else progress)
    tracks = _tracks(world, uris) if context is None else context_tracks(world, context)
    at = _offset(body.get("offset"), tracks)
    return replace(
        player,
        playing=True,
        track=tracks[at],
        context=context,
        before=tuple(tracks[:at]),
        after=tuple(tracks[at + 1 :]),
        progress=progress,
    )


def skip(player: Player) -> Player:
    """The next track: a queued one first, then the next of the context; past its end the context begins anew.

    At the end without repeat, playback stops at the first track.
    """
    if player.queued:
        return replace(player, track=player.queued[0], queued=player.queued[1:], playing=True, progress=0)
    if player.after:
        before = (*player.before, player.track)
        return replace(player, track=player.after[0], before=before, after=player.after[1:], playing=True, progress=0)
    tracks = (*player.before, player.track)
    goes_on = player.repeat != "off"
    return replace(player, track=tracks[0], before=(), after=tracks[1:], playing=goes_on, progress=0)


def back(player: Player) -> Player:
    """The previous track of the context; 403 at its beginning."""
    if not player.before:
        raise _restricted("NO_PREV_TRACK")
    after = (player.track, *player.after)
    return replace(player, track=player.before[-1], before=player.before[:-1], after=after, playing=True, progress=0)


def context_tracks(world: World, uri: Any) -> Sequence[str]:
    """The tracks of an album, artist or playlist by URI."""
    kind, key = uri_id(uri, _CONTEXTS)
    known = world.catalogue
    if kind == "album":
        return known.albums[known_id(key, known.albums)].tracks
    if kind == "artist":
        tracks: Sequence[str] = known.tracks_of.get(known_id(key, known.artists), ())[:TOP_TRACKS]
    else:
        found = world.playlist(key)
        if found is None:
            raise Refused(404, "Non existing id")
        tracks = [item.id for item in found.items]
    if not tracks:
        raise _restricted("CONTEXT_DISALLOW")
    return tracks


def _tracks(world: World, uris: Any) -> Sequence[str]:
    if not isinstance(uris, list) or not 1 <= len(uris) <= _LONGEST:
        raise Refused(400, f"Invalid uris: a list of 1 to {_LONGEST} is expected")
    return [known_id(uri_id(uri, ("track",))[1], world.catalogue.tracks) for uri in uris]


def _offset(offset: Any, tracks: Sequence[str]) -> int:
    if offset is None:
        return 0
    if isinstance(offset, dict) and "position" in offset:
        return whole(offset["position"], "offset", 0, len(tracks) - 1)
    if isinstance(offset, dict) and "uri" in offset:
        key = uri_id(offset["uri"], ("track",))[1]
        if key in tracks:
            return tracks.index(key)
    raise Refused(400, "Invalid offset")


def _restricted(reason: str = "UNKNOWN") -> Refused:
    return Refused(403, "Player command failed: Restriction violated", reason)
