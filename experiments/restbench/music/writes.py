"""What the 17 endpoints that change the account do: (world, request) -> Result with the new state. A refused request
changes nothing. The player's own rules are in `playback`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.restbench.music import playback
from experiments.restbench.music.reads import find_playlist, playlist_body
from experiments.restbench.music.request import Refused, Request, Result, flag, known_id, texts, uri_id, whole
from experiments.restbench.music.world import NOW, Item, Player, Playlist, State, World

_MOST_ITEMS = 100
_LONGEST_NAME = 200


def save_tracks(world: World, request: Request) -> Result:
    """Put tracks into the library."""
    saved = _with(world.state.tracks, _known(request, world.catalogue.tracks))
    return Result(state=replace(world.state, tracks=saved))


def remove_tracks(world: World, request: Request) -> Result:
    """Take tracks out of the library; those that are not in it do not matter."""
    kept = _without(world.state.tracks, _known(request, world.catalogue.tracks))
    return Result(state=replace(world.state, tracks=kept))


def save_albums(world: World, request: Request) -> Result:
    """Put albums into the library."""
    saved = _with(world.state.albums, _known(request, world.catalogue.albums))
    return Result(state=replace(world.state, albums=saved))


def remove_albums(world: World, request: Request) -> Result:
    """Take albums out of the library."""
    kept = _without(world.state.albums, _known(request, world.catalogue.albums))
    return Result(state=replace(world.state, albums=kept))


def follow(world: World, request: Request) -> Result:
    """Follow artists or users."""
    state, kind, ids = world.state, _followed_kind(request), request.ids()
    if kind == "user":
        return Result(status=204, state=replace(state, users=tuple(dict.fromkeys((*state.users, *ids)))))
    for key in ids:
        known_id(key, world.catalogue.artists)
    return Result(status=204, state=replace(state, artists=tuple(dict.fromkeys((*state.artists, *ids)))))


def unfollow(world: World, request: Request) -> Result:
    """Stop following artists or users."""
    state, kind, ids = world.state, _followed_kind(request), request.ids()
    if kind == "user":
        return Result(state=replace(state, users=tuple(key for key in state.users if key not in ids)))
    for key in ids:
        known_id(key, world.catalogue.artists)
    return Result(state=replace(state, artists=tuple(key for key in state.artists if key not in ids)))


def _followed_kind(request: Request) -> str:
    kind = request.query.get("type")
    if kind not in ("artist", "user"):
        raise Refused(400, "Missing required field: type" if kind is None else "Invalid type")
    return kind


def _known(request: Request, table: Mapping[str, Any]) -> list[str]:
    return [known_id(key, table) for key in request.ids()]


def _with(items: Sequence[Item], ids: Sequence[str]) -> tuple[Item, ...]:
    held = {item.id for item in items}
    return (*(Item(key, NOW) for key in ids if key not in held), *items)


def _without(items: Sequence[Item], ids: Sequence[str]) -> tuple[Item, ...]:
    return tuple(item for item in items if item.id not in ids)


def create_playlist(world: World, request: Request) -> Result:
    """Make an empty playlist; it stands first in the user's list."""
    if request.path["user_id"] != world.catalogue.user.id:
        raise Refused(403, "You cannot create a playlist for another user")
    details = _details(request)
    if "name" not in details:
        raise Refused(400, "Missing required field: name")
    blank = Playlist(
        world.catalogue.new_id(f"playlist/{world.state.created}"), "", None, world.catalogue.user, True, ()
    )
    made = replace(blank, **details)
    _check_collaborative(made)
    state = replace(world.state, playlists=(made, *world.state.playlists), created=world.state.created + 1)
    return Result(playlist_body(world, made), 201, state)


def change_playlist(world: World, request: Request) -> Result:
    """Change a playlist's name, description or visibility."""
    found, details = _own(world, request), _details(request)
    if not details:
        raise Refused(400, "No fields to change")
    changed = replace(found, **details, version=found.version + 1)
    _check_collaborative(changed)
    return Result(state=_put(world.state, changed))


def _details(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("name", "description"):
        if (value := request.fields.get(name)) is not None:
            if not isinstance(value, str) or len(value) > _LONGEST_NAME or (name == "name" and not value.strip()):
                raise Refused(400, f"Invalid {name}")
            found[name] = value
    for name in ("public", "collaborative"):
        if (value := request.fields.get(name)) is not None:
            found[name] = flag(value, name)
    return found


def _check_collaborative(playlist: Playlist) -> None:
    if playlist.collaborative and playlist.public:
        raise Refused(400, "A collaborative playlist cannot be public")


def add_items(world: World, request: Request) -> Result:
    """Put tracks into a playlist, at its end or at a position."""
    found = _own(world, request)
    fields = request.fields
    ids = _track_ids(world, texts(request.query.get("uris", fields.get("uris")), "uris"))
    given = request.query.get("position", fields.get("position"))
    at = len(found.items) if given is None else whole(given, "position", 0, len(found.items))
    added = tuple(Item(key, NOW, world.catalogue.user.id) for key in ids)
    changed = replace(found, items=(*found.items[:at], *added, *found.items[at:]), version=found.version + 1)
    return Result({"snapshot_id": changed.snapshot()}, 201, _put(world.state, changed))


def remove_items(world: World, request: Request) -> Result:
    """Take tracks out of a playlist: every place of a track, or the places that are given."""
    found = _own(world, request)
    given = request.fields.get("tracks")
    if not isinstance(given, list) or not given:
        raise Refused(400, "Missing required field: tracks")
    snapshot = request.fields.get("snapshot_id")
    if snapshot is not None and snapshot not in {found.snapshot(v) for v in range(found.version + 1)}:
        raise Refused(400, "Invalid snapshot_id")
    kept = list(enumerate(found.items))
    for entry in given[: _MOST_ITEMS + 1]:
        fields = entry if isinstance(entry, dict) else {}
        (key,) = _track_ids(world, [fields.get("uri")])
        places = fields.get("positions")
        if places is not None and not (isinstance(places, list) and all(isinstance(at, int) for at in places)):
            raise Refused(400, "Invalid positions")
        kept = [(at, item) for at, item in kept if item.id != key or (places is not None and at not in places)]
    if len(given) > _MOST_ITEMS:
        raise Refused(400, f"Too many tracks: at most {_MOST_ITEMS} in one request.")
    changed = replace(found, items=tuple(item for _, item in kept), version=found.version + 1)
    return Result({"snapshot_id": changed.snapshot()}, 200, _put(world.state, changed))


def _own(world: World, request: Request) -> Playlist:
    found = find_playlist(world, request)
    if found.owner.id != world.catalogue.user.id:
        raise Refused(403, "You cannot change a playlist you don't own.")
    return found


def _put(state: State, changed: Playlist) -> State:
    return replace(state, playlists=tuple(changed if p.id == changed.id else p for p in state.playlists))


def _track_ids(world: World, uris: Sequence[Any]) -> list[str]:
    if len(uris) > _MOST_ITEMS:
        raise Refused(400, f"Too many uris: at most {_MOST_ITEMS} in one request.")
    return [known_id(uri_id(uri, ("track",))[1], world.catalogue.tracks) for uri in uris]


def enqueue(world: World, request: Request) -> Result:
    """Put a track behind those that the user has queued."""
    if "uri" not in request.query:
        raise Refused(400, "Missing required field: uri")
    (key,) = _track_ids(world, [request.query["uri"]])
    player = _targeted(world, request)
    return _played(world, replace(player, queued=(*player.queued, key)))


def play(world: World, request: Request) -> Result:
    """Start a context or tracks, or go on with what was paused."""
    return _played(world, playback.start(world, _targeted(world, request), request.fields))


def pause(world: World, request: Request) -> Result:
    """Pause; refused when nothing plays."""
    return _played(world, playback.pause(_targeted(world, request)))


def skip(world: World, request: Request) -> Result:
    """Go to the next track."""
    return _played(world, playback.skip(_targeted(world, request)))


def back(world: World, request: Request) -> Result:
    """Go to the previous track."""
    return _played(world, playback.back(_targeted(world, request)))


def repeat(world: World, request: Request) -> Result:
    """Set the repeat mode."""
    state = request.query.get("state")
    if state not in ("track", "context", "off"):
        raise Refused(400, "Missing required field: state" if state is None else "Invalid state")
    return _played(world, replace(_targeted(world, request), repeat=state))


def volume(world: World, request: Request) -> Result:
    """Set the volume of the active device, or of the one that is named."""
    if "volume_percent" not in request.query:
        raise Refused(400, "Missing required field: volume_percent")
    level = request.whole("volume_percent", 0, 0, 100)
    player = world.state.player
    target = playback.device(player, request.query.get("device_id") or player.active)
    return _played(world, playback.set_volume(player, target, level))


def _targeted(world: World, request: Request) -> Player:
    """The player with the device of the request as the active one."""
    player = world.state.player
    key = request.query.get("device_id")
    return replace(player, active=playback.device(player, key).id) if key else player


def _played(world: World, player: Player) -> Result:
    return Result(status=204, state=replace(world.state, player=player))
