"""Follows the chains of tasks.yaml in a world and says which entities are meant. It reads the world directly, unlike
the solver, and knows nothing of answers or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from experiments.restbench.matching import normalise
from experiments.restbench.music.initial import best_known
from experiments.restbench.music.world import TOP_TRACKS, Catalogue, Playlist, World

Pool = tuple[str, ...]  # ids of one kind, in the order in which the service shows them
QUIET_GENRES = frozenset(("ambient", "sleep", "acoustic chill", "lullaby", "piano covers"))
_PLACES = {"first": 0, "second": 1, "third": 2}


def resolve(world: World, chain: Sequence[str]) -> Pool:
    """The ids at the end of a chain in this state of the world; () for an empty chain."""
    found: Pool = ()
    for at, step in enumerate(chain):
        found = _source(world, step) if at == 0 else follow(world, step, found)
    return found


def follow(world: World, hop: str, found: Pool) -> Pool:
    """The ids that one hop leads to."""
    if hop in _PLACES:
        return found[_PLACES[hop] : _PLACES[hop] + 1]
    reached = (each for key in found for each in _HOPS[hop](world, key))
    return tuple(dict.fromkeys(reached))


def is_quiet(known: Catalogue, key: str) -> bool:
    """Whether a track passes for quiet: by its title, its album's title or the genres of its main artist."""
    track = known.tracks[key]
    words = normalise(f"{track.title} {known.albums[track.album].title}").split()
    return "quiet" in words or bool(QUIET_GENRES & set(known.artists[track.artists[0]].genres))


def _source(world: World, step: str) -> Pool:
    known, state = world.catalogue, world.state
    if step in _SOURCES:
        return tuple(_SOURCES[step](world))
    kind, _, name = step.partition(" ")
    if kind == "artist":
        return (best_known(known, name),)
    if kind == "playlist":
        return tuple(each.id for each in state.playlists if each.name == name)
    title, _, singer = name.partition("|")
    table = known.tracks if kind == "track" else known.albums
    same = [each for each in table.values() if each.title == title]
    if singer:
        return tuple(each.id for each in same if best_known(known, singer) in each.artists)
    return (max(same, key=lambda each: each.popularity).id,)


def _same_genre(world: World, key: str) -> Iterable[str]:
    known = world.catalogue
    genres = set(known.artists[known.tracks[key].artists[0]].genres)
    others = (each for each in known.tracks.values() if each.title != known.tracks[key].title)
    return (each.id for each in others if genres & set(known.artists[each.artists[0]].genres))


def _tracks(world: World, key: str) -> Iterable[str]:
    if key in world.catalogue.albums:
        return world.catalogue.albums[key].tracks
    listed = world.playlist(key)
    return (item.id for item in listed.items) if isinstance(listed, Playlist) else ()


def _artists(world: World, key: str) -> Pool:
    known = world.catalogue
    return known.tracks[key].artists if key in known.tracks else known.albums[key].artists


_SOURCES: dict[str, Callable[[World], Iterable[str]]] = {
    "current": lambda world: (world.state.player.track,),
    "queue": lambda world: (*world.state.player.queued, *world.state.player.after, world.state.player.track),
    "recent": lambda world: (item.id for item in world.state.history),
    "following": lambda world: world.state.artists,
    "playlists": lambda world: (each.id for each in world.state.playlists),
    "library tracks": lambda world: (item.id for item in world.state.tracks),
    "library albums": lambda world: (item.id for item in world.state.albums),
    "top artists": lambda world: world.catalogue.top_artists["medium_term"],
    "top tracks": lambda world: dict.fromkeys(key for own in world.catalogue.top_tracks.values() for key in own),
    "quiet": lambda world: (key for key in world.catalogue.tracks if is_quiet(world.catalogue, key)),
}
_HOPS: dict[str, Callable[[World, str], Iterable[str]]] = {
    "tracks": _tracks,
    "artists": _artists,
    "album": lambda world, key: (world.catalogue.tracks[key].album,),
    "songs": lambda world, key: world.catalogue.tracks_of[key],
    "top_tracks": lambda world, key: world.catalogue.tracks_of[key][:TOP_TRACKS],
    "newest_album": lambda world, key: (world.catalogue.newest_album(key).id,),
    "related": lambda world, key: world.catalogue.artists[key].related,
    "same_genre": _same_genre,
}
