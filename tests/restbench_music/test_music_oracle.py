"""Hand-written episodes: other right ways must pass, cunning wrong ones must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.restbench.music.app import MusicApp
from experiments.restbench.music.tasks import check, load_tasks
from experiments.restbench.music.tasks.truth import resolve
from experiments.restbench.music.world import World
from experiments.restbench.oracle import Task
from experiments.restbench.service import Episode


@pytest.fixture(scope="module")
def tasks(shared_data: Path) -> list[Task]:
    return load_tasks(shared_data / "restbench")


class Hand:
    """Short forms for requests by hand."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app = MusicApp(world)
        self.episode = Episode(self.app, self.app.credentials)
        self.get = self.episode.get

    def ids(self, *chain: str) -> tuple[str, ...]:
        return resolve(self.world, chain)

    def uris(self, *chain: str) -> list[str]:
        return [f"spotify:track:{key}" for key in self.ids(*chain)]

    def put(self, path: str, body: Any = None, **query: Any) -> None:
        self.episode.request("PUT", path, query, body)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self.episode.request("POST", path, query, body).json

    def delete(self, path: str, body: Any = None, **query: Any) -> None:
        self.episode.request("DELETE", path, query, body)

    def playlist(self, name: str, uris: list[str]) -> None:
        user = self.get("/me")["id"]
        made = self.post(f"/users/{user}/playlists", {"name": name, "public": False, "description": "mine"})
        self.post(f"/playlists/{made['id']}/tracks", uris=",".join(uris))


def judged(task: Task, world: World, act: Callable[[Hand], Any]) -> bool:
    hand = Hand(world)
    result = act(hand)
    answer = result if isinstance(result, str) else "All done."
    return check(task)(world, hand.app.world, hand.episode.log, answer).ok


def first(hand: Hand) -> str:
    return f"/playlists/{hand.ids('playlists', 'first')[0]}"


def own(hand: Hand, name: str) -> str:
    return f"/playlists/{hand.ids('playlist ' + name)[0]}"


def seen_following(hand: Hand) -> str:
    hand.get("/me/player")
    hand.get("/me/following", type="artist")
    return "You already follow that artist."


def clear(hand: Hand, albums: str) -> None:
    hand.delete("/me/tracks", {"ids": list(hand.ids("library tracks"))})
    hand.delete("/me/following", type="artist", ids=",".join(hand.ids("following")))
    if albums:
        hand.delete("/me/albums", ids=albums)


def pause_louder(hand: Hand) -> None:
    hand.put("/me/player/pause")
    hand.put("/me/player/volume", volume_percent=99)
    hand.put("/me/player/play")


def rename_then_empty(hand: Hand) -> None:
    path = own(hand, "My R&B")
    hand.put(path, {"name": "Test"})
    for uri in hand.uris("playlist My R&B", "tracks"):
        hand.delete(f"{path}/tracks", {"tracks": [{"uri": uri}]})


def add_first(hand: Hand, uris: list[str]) -> None:
    hand.post(f"{first(hand)}/tracks", {"uris": uris, "position": 0})


def play_quiet_playlist(hand: Hand) -> None:
    found = hand.get("/search", q="quiet", type="playlist")["playlists"]["items"]
    hand.put("/me/player/play", {"context_uri": found[0]["uri"]})


def play_compilation(hand: Hand) -> None:
    """The newest release on which she appears is not her album."""
    key = hand.ids("artist Taylor Swift")[0]
    found = hand.get(f"/artists/{key}/albums", include_groups="appears_on")["items"]
    newest = max(found, key=lambda album: album["release_date"])
    tracks = hand.get(f"/albums/{newest['id']}/tracks")["items"]
    hand.put("/me/player/play", {"uris": [each["uri"] for each in tracks if each["artists"][0]["id"] == key]})


def all_related(hand: Hand) -> str:
    key = hand.get("/me/following", type="artist")["artists"]["items"][0]["id"]
    return ", ".join(each["name"] for each in hand.get(f"/artists/{key}/related-artists")["artists"])


def both(*acts: Callable[[Hand], Any]) -> Callable[[Hand], None]:
    def act(hand: Hand) -> None:
        for each in acts:
            each(hand)

    return act


PAUSE = lambda hand: hand.put("/me/player/pause")  # noqa: E731
RESUME = lambda hand: hand.put("/me/player/play")  # noqa: E731
NEXT = lambda hand: hand.post("/me/player/next")  # noqa: E731
RIGHT: list[tuple[int, Callable[[Hand], Any]]] = [
    (0, lambda hand: hand.playlist("Love Mariah", hand.uris("artist Mariah Carey", "songs")[5:8])),
    (2, lambda hand: add_first(hand, hand.uris("track Summertime Sadness|Lana Del Rey")[1:])),
    (6, seen_following),
    (6, lambda hand: hand.put("/me/following", {"ids": list(hand.ids("current", "artists"))}, type="artist")),
    (8, play_quiet_playlist),
    (15, lambda hand: hand.playlist("Current", hand.uris("queue"))),
    (25, rename_then_empty),
    (26, lambda hand: f"It is on Born To Die, released {hand.get('/me/player')['item']['album']['release_date']}."),
    (27, PAUSE),
    (30, all_related),
    (36, lambda hand: hand.put("/me/following", type="artist", ids=hand.ids("artist Mariah Carey")[0])),
    (42, lambda hand: clear(hand, "")),
    (42, lambda hand: clear(hand, ",".join(hand.ids("library albums")))),
    (46, both(NEXT, PAUSE, lambda hand: hand.put("/me/player/volume", volume_percent=80))),
    (47, lambda hand: hand.put("/me/player/play", {"uris": hand.uris("artist BIGBANG", "newest_album", "tracks")})),
    (52, lambda hand: hand.put(first(hand), {"public": "false"})),
    (55, lambda hand: f"Your user name is {hand.get('/me')['id']}"),
]  # fmt: skip
WRONG: list[tuple[int, Callable[[Hand], Any]]] = [
    (0, lambda hand: hand.playlist("Love Mariah", hand.uris("artist Mariah Carey", "songs")[:4])),
    (0, lambda hand: hand.playlist("Love Mariah", hand.uris("artist Mariah Carey", "songs")[:1] * 3)),
    (0, lambda hand: hand.playlist("love mariah", hand.uris("artist Mariah Carey", "songs")[:3])),
    (0, lambda hand: hand.playlist("Love Mariah", hand.uris("artist Mariah Carey Piano Covers", "songs")[:3])),
    (2, lambda hand: add_first(hand, hand.uris("track Summertime Sadness (Karaoke Version)"))),
    (6, lambda hand: "You already follow Lana Del Rey."),
    (6, lambda hand: hand.get("/me/player") and "You already follow Lana Del Rey."),
    (7, play_compilation),
    (12, lambda hand: hand.put(first(hand), {"name": "my first"})),
    (14, pause_louder),
    (14, lambda hand: hand.put("/me/player/volume", volume_percent=3)),
    (16, lambda hand: "It is Born To Die or " + hand.get("/me/player/currently-playing")["item"]["name"]),
    (18, lambda hand: hand.get("/me/albums") and "You saved Born To Die."),
    (23, lambda hand: ", ".join(each["name"] for each in hand.get("/me/top/artists")["items"])),
    (27, both(PAUSE, RESUME)),
    (28, both(PAUSE, RESUME)),
    (31, both(NEXT, lambda hand: hand.delete("/me/following", type="artist", ids=hand.ids("following")[0]), NEXT)),
    (36, lambda hand: hand.put("/me/following", type="artist", ids=hand.ids("artist Whitney Houston")[0])),
    (37, rename_then_empty),
    (51, rename_then_empty),
    (40, both(NEXT, NEXT)),
    (40, both(NEXT, PAUSE)),
    (41, lambda hand: hand.put("/me/player/play", {"uris": hand.uris("playlist My Rock", "tracks")[:1]})),
    (42, lambda hand: clear(hand, hand.ids("library albums")[0])),
    (45, lambda hand: hand.put("/me/player/repeat", state="context")),
    (47, lambda hand: hand.put("/me/player/play", {"uris": hand.uris("artist BIGBANG", "newest_album", "tracks")[:1]})),
    (50, lambda hand: hand.playlist("BIGBANG", hand.uris("artist BIGBANG Dance Covers", "songs")[:1])),
    (52, lambda hand: hand.put(first(hand), {"public": False, "name": "Private"})),
    (56, both(PAUSE, RESUME)),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(RIGHT)))
def test_other_right_ways_pass(place: int, tasks: list[Task], world: World) -> None:
    index, act = RIGHT[place]
    assert judged(tasks[index], world, act), tasks[index].query


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_cunning_wrong_ways_fail(place: int, tasks: list[Task], world: World) -> None:
    index, act = WRONG[place]
    assert not judged(tasks[index], world, act), tasks[index].query
