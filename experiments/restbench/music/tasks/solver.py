"""A scripted solver: does every task through HTTP alone, along a path that contains an acceptable gold path. It is the
proof that each question can be answered in each world, and the oracle model of the experiment. It never reads a world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.restbench.oracle import Task
from experiments.restbench.service import Episode

Json = Mapping[str, Any]
_PLACES = {"first": 0, "second": 1, "third": 2}
_PAGE = 50


def solve(task: Task, episode: Episode, exact: bool = True) -> str:
    """Do the task through the episode and report. `exact` False: trust the first search hit, which is often wrong."""
    solver = Solver(episode, exact)
    if task.kind != "change":
        return ANSWERS[task.kind](solver, task)
    for name, value in task.params.items():
        ACTIONS[name](solver, value)
    return "Done."


@dataclass
class Solver:
    """Finds things through an episode."""

    episode: Episode
    exact: bool = True
    seen: dict[str, Any] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        """A response body; the same request is not sent twice."""
        key = f"{path}?{sorted(query.items())}"
        if key not in self.seen:
            self.seen[key] = self.episode.get(path, **query)
        return self.seen[key]

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON answer to a write."""
        return self.episode.request(method, path, query, body).json

    def resolve(self, chain: Sequence[str]) -> list[Json]:
        """The things at the end of a chain, as responses showed them; [] for an empty chain."""
        found: list[Json] = []
        for at, step in enumerate(chain):
            if at == 0:
                found = self._source(step)
            elif step in _PLACES:
                found = found[_PLACES[step] : _PLACES[step] + 1]
            else:
                found = list({each["id"]: each for item in found for each in _HOPS[step](self, item)}.values())
        return found

    def _source(self, step: str) -> list[Json]:
        if step in _SOURCES:
            return _SOURCES[step](self)
        kind, _, name = step.partition(" ")
        if kind == "playlist":
            return [each for each in self.get("/me/playlists")["items"] if each["name"] == name]
        title, _, singer = name.partition("|")
        hits = self.get("/search", q=f"{title} {singer}".strip(), type=kind, limit=_PAGE)[f"{kind}s"]["items"]
        named = [
            hit for hit in hits if hit["name"] == title and (not singer or singer in _names(hit.get("artists", ())))
        ]
        if not self.exact or not named:
            return list(hits[:1])
        return [max(named, key=lambda hit: int(hit.get("popularity", 0)))]


def _names(things: Sequence[Json]) -> list[str]:
    return [str(each["name"]) for each in things]


def _ids(things: Sequence[Json]) -> str:
    return ",".join(str(each["id"]) for each in things)


def _newest(solver: Solver, artist: Json) -> list[Json]:
    path, groups = f"/artists/{artist['id']}/albums", "album,single,compilation"
    found: list[Json] = []
    total = 1
    while len(found) < total:
        page = solver.get(path, include_groups=groups, limit=_PAGE, offset=len(found))
        found += page["items"]
        total = page["total"]
    return [max(found, key=lambda album: str(album["release_date"]))]


def _tracks(solver: Solver, item: Json) -> list[Json]:
    listed = solver.get(f"/{item['type']}s/{item['id']}/tracks", limit=_PAGE)["items"]
    return [each.get("track", each) for each in listed]


def _quiet(solver: Solver) -> list[Json]:
    return list(solver.get("/search", q="quiet", type="track")["tracks"]["items"][:1])


_SOURCES: dict[str, Callable[[Solver], list[Json]]] = {
    "current": lambda solver: [solver.get("/me/player/currently-playing")["item"]],
    "queue": lambda solver: list(solver.get("/me/player/queue")["queue"]),
    "recent": lambda solver: [each["track"] for each in solver.get("/me/player/recently-played")["items"]],
    "following": lambda solver: list(solver.get("/me/following", type="artist")["artists"]["items"]),
    "playlists": lambda solver: list(solver.get("/me/playlists")["items"]),
    "library tracks": lambda solver: [each["track"] for each in solver.get("/me/tracks")["items"]],
    "library albums": lambda solver: [each["album"] for each in solver.get("/me/albums")["items"]],
    "top artists": lambda solver: list(solver.get("/me/top/artists")["items"]),
    "top tracks": lambda solver: list(solver.get("/me/top/tracks")["items"]),
    "quiet": _quiet,
}


def _top_tracks(solver: Solver, artist: Json) -> list[Json]:
    return list(solver.get(f"/artists/{artist['id']}/top-tracks", market="US")["tracks"])


def _same_genre(solver: Solver, item: Json) -> list[Json]:
    """Recommendations for a track; the description asks for seeds of all three kinds."""
    singer = item["artists"][0]["id"]
    genre = solver.get(f"/artists/{singer}")["genres"][0]
    found = solver.get("/recommendations", seed_artists=singer, seed_genres=genre, seed_tracks=item["id"])
    return list(found["tracks"])


_HOPS: dict[str, Callable[[Solver, Json], list[Json]]] = {
    "tracks": _tracks,
    "artists": lambda solver, item: list(item["artists"]),
    "album": lambda solver, item: [solver.get(f"/albums/{item['album']['id']}")],
    "songs": _top_tracks,
    "top_tracks": _top_tracks,
    "newest_album": _newest,
    "related": lambda solver, item: list(solver.get(f"/artists/{item['id']}/related-artists")["artists"]),
    "same_genre": _same_genre,
}


def _first_or_all(solver: Solver, value: Mapping[str, Any]) -> list[Json]:
    found = solver.resolve(value["of"])
    return found if value.get("every") else found[:1]


def _save(part: str) -> Callable[[Solver, Any], None]:
    def act(solver: Solver, value: Any) -> None:
        solver.send("PUT", f"/me/{part}", ids=_ids(solver.resolve(value["of"])))

    return act


def _drop(part: str) -> Callable[[Solver, Any], None]:
    def act(solver: Solver, value: Any) -> None:
        solver.send("DELETE", f"/me/{part}", ids=_ids(solver.resolve(value["of"])))

    return act


def _new_playlist(solver: Solver, value: Mapping[str, Any]) -> None:
    things = solver.resolve(value["of"])[: value["count"][1]]
    user = solver.get("/me")["id"]
    made = solver.send("POST", f"/users/{user}/playlists", {"name": value["name"]})
    if things:
        uris = [each["uri"] for each in things]
        solver.send("POST", f"/playlists/{made['id']}/tracks", {"uris": uris})


def _edit(solver: Solver, value: Mapping[str, Any]) -> None:
    (playlist,) = solver.resolve(value["to"])
    path = f"/playlists/{playlist['id']}"
    if "add" in value:
        solver.send("POST", f"{path}/tracks", {"uris": [solver.resolve(value["add"])[0]["uri"]]})
    if "remove" in value:
        things = solver.resolve([*value["to"], *value["remove"]])
        solver.send("DELETE", f"{path}/tracks", {"tracks": [{"uri": each["uri"]} for each in things]})
    details = {key: value[key] for key in ("name", "public") if key in value}
    if details:
        solver.send("PUT", path, details)


def _queue(solver: Solver, chain: Sequence[str]) -> None:
    solver.send("POST", "/me/player/queue", uri=solver.resolve(chain)[0]["uri"])


def _play(solver: Solver, chain: Sequence[str]) -> None:
    solver.send("PUT", "/me/player/play", {"uris": [solver.resolve(chain)[0]["uri"]]})


def _play_context(solver: Solver, chain: Sequence[str]) -> None:
    solver.send("PUT", "/me/player/play", {"context_uri": solver.resolve(chain)[0]["uri"]})


def _pause(solver: Solver, value: bool | str) -> None:
    if value != "if_playing" or solver.get("/me/player")["is_playing"]:
        solver.send("PUT", "/me/player/pause")


def _resume(solver: Solver, value: bool | str) -> None:
    """Play on. The description knows no device to play on: a named one must be the active one."""
    if value is not True:
        devices = solver.get("/me/player/devices")["devices"]
        assert next(each["is_active"] for each in devices if each["name"] == value)
    solver.send("PUT", "/me/player/play")


def _volume(solver: Solver, value: int | str) -> None:
    level = value if value != "lower" else int(solver.get("/me/player")["device"]["volume_percent"]) // 2
    solver.send("PUT", "/me/player/volume", volume_percent=level)


def _follow(method: str) -> Callable[[Solver, Any], None]:
    def act(solver: Solver, value: Any) -> None:
        things = _first_or_all(solver, value) if method == "PUT" else solver.resolve(value["of"])
        solver.send(method, "/me/following", type="artist", ids=_ids(things))

    return act


ACTIONS: dict[str, Callable[[Solver, Any], None]] = {
    "follow": _follow("PUT"),
    "unfollow": _follow("DELETE"),
    "save_tracks": _save("tracks"),
    "save_albums": _save("albums"),
    "drop_tracks": _drop("tracks"),
    "drop_albums": _drop("albums"),
    "may_clear_albums": lambda solver, value: None,
    "new_playlist": _new_playlist,
    "edit": _edit,
    "queue": _queue,
    "play": _play,
    "play_context": _play_context,
    "skip": lambda solver, value: solver.send("POST", "/me/player/next"),
    "pause": _pause,
    "resume": _resume,
    "volume": _volume,
    "repeat": lambda solver, value: solver.send("PUT", "/me/player/repeat", state=value),
}


def _listing(solver: Solver, task: Task) -> str:
    found = _names(solver.resolve(task.params["of"]))
    return f"Here you are: {', '.join(dict.fromkeys(found[: max(task.params['need'], 1)]))}."


def _album_facts(solver: Solver, task: Task) -> str:
    (album,) = solver.resolve(task.params["of"])
    return f"The album {album['name']} by {', '.join(_names(album['artists']))} has {album['total_tracks']} tracks."


ANSWERS: dict[str, Callable[[Solver, Task], str]] = {
    "names": _listing,
    "album_facts": _album_facts,
    "user_name": lambda solver, task: f"Your user name is {solver.get('/me')['display_name']}.",
}
