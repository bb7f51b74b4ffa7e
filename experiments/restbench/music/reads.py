"""What the 23 endpoints that only read answer: (world, request) -> Result."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from experiments.restbench.music import render
from experiments.restbench.music.render import renderer
from experiments.restbench.music.request import Refused, Request, Result, base62_id, known_id, texts
from experiments.restbench.music.search import KINDS, index
from experiments.restbench.music.world import TOP_TRACKS, Item, Playlist, Track, World

_GROUPS = ("album", "single", "appears_on", "compilation")
_NEW_RELEASES = 100
_MOST_HITS = 1000
_MOST_SEEDS = 5
_LATEST = 10**13  # milliseconds; any moment of a history lies before


def album(world: World, request: Request) -> Result:
    """An album with the first page of its tracks."""
    key = known_id(request.id(), world.catalogue.albums)
    bodies = renderer(world.catalogue)
    tracks = world.catalogue.albums[key].tracks
    page = render.page(tracks, f"/albums/{key}/tracks", {"limit": 50, "offset": 0}, bodies.track_item)
    return Result({**bodies.album(key), "tracks": page})


def album_tracks(world: World, request: Request) -> Result:
    """A page of an album's tracks."""
    key = known_id(request.id(), world.catalogue.albums)
    tracks = world.catalogue.albums[key].tracks
    make = renderer(world.catalogue).track_item
    return Result(render.page(tracks, f"/albums/{key}/tracks", request.window(), make))


def artist(world: World, request: Request) -> Result:
    """An artist."""
    return Result(renderer(world.catalogue).artist(known_id(request.id(), world.catalogue.artists)))


def artist_albums(world: World, request: Request) -> Result:
    """A page of an artist's releases, in groups and not by date."""
    key = known_id(request.id(), world.catalogue.artists)
    asked: dict[str, Any] = dict(request.window())
    groups: Sequence[str] = _GROUPS
    if "include_groups" in request.query:
        groups = texts(request.query["include_groups"], "include_groups")
        if not set(groups) <= set(_GROUPS):
            raise Refused(400, "Invalid album type")
        asked["include_groups"] = ",".join(groups)
    listed = [each for each in world.catalogue.albums_of.get(key, ()) if each[0] in groups]
    bodies = renderer(world.catalogue)
    return Result(
        render.page(
            listed, f"/artists/{key}/albums", asked, lambda each: {**bodies.album_item(each[1]), "album_group": each[0]}
        )
    )


def related_artists(world: World, request: Request) -> Result:
    """Twenty artists like this one."""
    key = known_id(request.id(), world.catalogue.artists)
    bodies = renderer(world.catalogue)
    return Result({"artists": [bodies.artist(each) for each in world.catalogue.artists[key].related]})


def top_tracks(world: World, request: Request) -> Result:
    """An artist's ten best known tracks."""
    key = known_id(request.id(), world.catalogue.artists)
    bodies = renderer(world.catalogue)
    return Result({"tracks": [bodies.track(each) for each in world.catalogue.tracks_of.get(key, ())[:TOP_TRACKS]]})


def track(world: World, request: Request) -> Result:
    """A track."""
    return Result(renderer(world.catalogue).track(known_id(request.id(), world.catalogue.tracks)))


def new_releases(world: World, request: Request) -> Result:
    """The latest albums of all."""
    latest = sorted(world.catalogue.albums.values(), key=lambda each: each.date, reverse=True)[:_NEW_RELEASES]
    bodies = renderer(world.catalogue)
    page = render.page(latest, "/browse/new-releases", request.window(), lambda each: bodies.album_item(each.id))
    return Result({"albums": page})


def me(world: World, request: Request) -> Result:
    """The user's profile."""
    return Result(render.user(world.catalogue.user))


def my_tracks(world: World, request: Request) -> Result:
    """A page of the saved tracks."""
    make = partial(render.saved_track, world)
    return Result(render.page(world.state.tracks, "/me/tracks", request.window(), make))


def my_albums(world: World, request: Request) -> Result:
    """A page of the saved albums."""

    def make(item: Item) -> dict[str, Any]:
        path = Request({"id": item.id}, {}, {})
        return {"added_at": item.at, "album": album(world, path).content}

    return Result(render.page(world.state.albums, "/me/albums", request.window(), make))


def my_following(world: World, request: Request) -> Result:
    """The followed artists, by cursor."""
    if request.query.get("type") != "artist":
        raise Refused(400, "Missing required field: type" if "type" not in request.query else "Invalid type")
    limit, start, artists = request.window()["limit"], 0, world.state.artists
    if "after" in request.query:
        after = base62_id(request.query["after"])
        start = artists.index(after) + 1 if after in artists else len(artists)
    shown = artists[start : start + limit]
    more = start + limit < len(artists)
    address = f"{render.BASE}/me/following?type=artist&limit={limit}"
    bodies = renderer(world.catalogue)
    page = {
        "cursors": {"after": shown[-1]} if more else {},
        "href": address,
        "items": [bodies.artist(key) for key in shown],
        "limit": limit,
        "total": len(artists),
        **({"next": f"{address}&after={shown[-1]}"} if more else {}),
    }
    return Result({"artists": page})


def my_playlists(world: World, request: Request) -> Result:
    """A page of the user's own playlists and then of those of others that the user keeps."""
    listed = [*world.state.playlists, *(world.catalogue.playlists[key] for key in world.state.subscribed)]
    return Result(render.page(listed, "/me/playlists", request.window(), _listed))


def _listed(each: Playlist) -> dict[str, Any]:
    return {**render.playlist(each, full=False), "tracks": render.tracks_link(each)}


def my_top(world: World, request: Request) -> Result:
    """The user's favourite artists or tracks."""
    kind, span = request.path["type"], request.query.get("time_range", "medium_term")
    if kind not in ("artists", "tracks"):
        raise Refused(404, "Service not found")
    if span not in world.catalogue.top_artists:
        raise Refused(400, "Invalid time_range")
    asked = {**request.window(), "time_range": span}
    bodies = renderer(world.catalogue)
    if kind == "artists":
        return Result(render.page(world.catalogue.top_artists[span], "/me/top/artists", asked, bodies.artist))
    return Result(render.page(world.catalogue.top_tracks[span], "/me/top/tracks", asked, bodies.track))


def player(world: World, request: Request) -> Result:
    """The whole state of the player."""
    return Result(render.player_state(world))


def currently_playing(world: World, request: Request) -> Result:
    """The track being played."""
    return Result(render.playback(world))


def devices(world: World, request: Request) -> Result:
    """The user's devices."""
    state = world.state.player
    return Result({"devices": [render.device(each, state.active) for each in state.devices]})


def queue(world: World, request: Request) -> Result:
    """The track being played and those to come."""
    return Result(render.queue(world, world.state))


def recently_played(world: World, request: Request) -> Result:
    """The history, latest first, by time cursors in milliseconds."""
    limit = request.window()["limit"]
    if "after" in request.query and "before" in request.query:
        raise Refused(400, "Only one of after and before may be given.")
    after = request.whole("after", 0, 0, _LATEST)
    before = request.whole("before", _LATEST, 0, _LATEST)
    kept = [item for item in world.state.history if after < _milliseconds(item) < before]
    shown = kept[-limit:] if "after" in request.query else kept[:limit]
    more = len(kept) > limit and "after" not in request.query
    address = f"{render.BASE}/me/player/recently-played?limit={limit}"
    cursors = {"after": str(_milliseconds(shown[0])), "before": str(_milliseconds(shown[-1]))} if shown else {}
    page = {
        "cursors": cursors,
        "href": address,
        "items": [render.played(world, item) for item in shown],
        "limit": limit,
        "total": len(world.state.history),
        **({"next": f"{address}&before={cursors['before']}"} if more else {}),
    }
    return Result(page)


def _milliseconds(item: Item) -> int:
    return int(datetime.fromisoformat(item.at.replace("Z", "+00:00")).timestamp() * 1000)


def playlist(world: World, request: Request) -> Result:
    """A playlist with the first page of its tracks. `fields` is not applied: the whole is a valid answer."""
    found = find_playlist(world, request)
    return Result(playlist_body(world, found))


def playlist_body(world: World, found: Playlist) -> dict[str, Any]:
    """A playlist in full."""
    make = partial(render.playlist_item, world)
    page = render.page(found.items, f"/playlists/{found.id}/tracks", {"limit": 100, "offset": 0}, make)
    return {**render.playlist(found, full=True), "tracks": page}


def playlist_tracks(world: World, request: Request) -> Result:
    """A page of a playlist's tracks."""
    found = find_playlist(world, request)
    make = partial(render.playlist_item, world)
    return Result(render.page(found.items, f"/playlists/{found.id}/tracks", request.window(longest=100), make))


def find_playlist(world: World, request: Request) -> Playlist:
    """The playlist that the path names; 404 when there is none."""
    found = world.playlist(request.id("playlist_id"))
    if found is None:
        raise Refused(404, "Non existing id")
    return found


def recommendations(world: World, request: Request) -> Result:
    """Tracks of the genres of the seeds, then of artists like them; the same seeds give the same tracks."""
    limit = request.whole("limit", 20, 1, 100)
    seeds = {
        kind: texts(request.query[f"seed_{kind}s"], f"seed_{kind}s") if request.query.get(f"seed_{kind}s") else []
        for kind in ("artist", "track", "genre")
    }
    if not 1 <= sum(map(len, seeds.values())) <= _MOST_SEEDS:
        raise Refused(400, "invalid request: between one and five seeds are needed")
    known = world.catalogue
    singers = [known_id(base62_id(key), known.artists) for key in seeds["artist"]]
    singers += [known.tracks[known_id(base62_id(key), known.tracks)].artists[0] for key in seeds["track"]]
    genres = {genre for key in singers for genre in known.artists[key].genres} | set(seeds["genre"])
    pool = [each for each in known.tracks.values() if genres & set(known.artists[each.artists[0]].genres)]
    chosen = sorted((each for each in pool if each.id not in seeds["track"]), key=_spread)[:limit]
    bodies = renderer(known)
    size = len(pool)
    return Result(
        {
            "seeds": [
                {
                    "afterFilteringSize": size,
                    "afterRelinkingSize": size,
                    "id": key,
                    "initialPoolSize": size,
                    "type": kind.upper(),
                }
                for kind, keys in seeds.items()
                for key in keys
            ],
            "tracks": [bodies.track(each.id) for each in chosen],
        }
    )


def _spread(each: Track) -> tuple[int, str]:
    """An order that mixes artists: by the last sign of the id."""
    return (ord(each.id[-1]), each.id)


def search(world: World, request: Request) -> Result:
    """A page of hits for each kind that is asked for."""
    query, kinds = request.query.get("q", "").strip(), request.query.get("type", "")
    if not query:
        raise Refused(400, "No search query")
    if not kinds.strip():
        raise Refused(400, "Missing parameter type")
    wanted = list(dict.fromkeys(kind.strip() for kind in kinds.split(",")))
    if not set(wanted) <= set(KINDS):
        raise Refused(400, f"Bad search type field {kinds[:40]}")
    asked = {"query": quote_plus(query), "type": ",".join(wanted), **request.window(_MOST_HITS)}
    bodies = renderer(world.catalogue)
    make = {
        "artist": bodies.artist,
        "album": bodies.album_item,
        "track": bodies.track,
        "playlist": lambda key: _listed(world.catalogue.playlists[key]),
    }
    finder = index(world.catalogue)
    pages = {}
    for kind in wanted:
        hits = finder.find(kind, query)[:_MOST_HITS]
        pages[f"{kind}s"] = render.page(hits, "/search", asked, make.get(kind, dict))
    return Result(pages)
