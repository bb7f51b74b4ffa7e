"""The simulated music service from outside: every endpoint conforms, errors are the service's, nothing else leaks."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.restbench.data import spec_file
from experiments.restbench.music.app import HANDLERS, MusicApp
from experiments.restbench.music.build import build
from experiments.restbench.music.world import World
from experiments.restbench.service import Episode
from toolkit.restgpt.spec import load_spec

QUERIES = ("the", "taylor swift", 'artist:"The Beatles" track:a', "quiet", "genre:rock", "year:1990-2000", "zz", ":")


def request(line: str, world: World, rng: Random) -> tuple[str, str, dict[str, str], Any]:
    """A request to the endpoint that should succeed in the initial state: (method, path, query, body)."""
    known, state = world.catalogue, world.state
    track, album, artist = (rng.choice(list(table)) for table in (known.tracks, known.albums, known.artists))
    own = rng.choice(state.playlists)
    uri = f"spotify:track:{track}"
    table = {"albums": album, "artists": artist, "tracks": track}
    method, template = line.split(" ")
    owned = own.id if method != "GET" else rng.choice([own.id, *known.playlists])
    path = template.replace("{id}", table.get(template.split("/")[1], "")).replace("{playlist_id}", owned)
    path = path.replace("{user_id}", known.user.id).replace("{type}", rng.choice(["artists", "tracks"]))
    query: dict[str, str] = {}
    body: Any = None
    if template in ("/me/albums", "/me/tracks") and method != "GET":
        query = {
            "ids": ",".join([table[template.split("/")[2]], *(i.id for i in state.albums if "albums" in template)])
        }
    elif template == "/me/following":
        query = {"type": "artist", **({} if method == "GET" else {"ids": artist})}
    elif template == "/search":
        kinds = rng.sample(["track", "album", "artist", "playlist", "show", "episode", "audiobook"], k=3)
        query = {"q": rng.choice(QUERIES), "type": ",".join(kinds), "limit": str(rng.randint(1, 50))}
    elif template == "/recommendations":
        query = rng.choice([{"seed_tracks": track}, {"seed_artists": artist}, {"seed_genres": "rock,jazz"}])
    elif line == "POST /me/player/queue":
        query = {"uri": uri}
    elif template.startswith("/me/player/") and method == "PUT":
        query = {"volume_percent": "7", "state": rng.choice(["track", "context", "off"])}
        body = {"uris": [uri], "position_ms": 5} if template.endswith("play") else None
    elif template == "/playlists/{playlist_id}/tracks" and method != "GET":
        body = {"uris": [uri, uri]} if method == "POST" else {"tracks": [{"uri": f"spotify:track:{own.items[0].id}"}]}
    elif template in ("/playlists/{playlist_id}", "/users/{user_id}/playlists") and method != "GET":
        body = {"name": "Ünder the Bridge", "public": False, "description": "so"}
    return method, path, query, body


def test_serves_exactly_the_described_endpoints(shared_data: Path, app: MusicApp) -> None:
    spec = load_spec(spec_file(shared_data / "restbench", "spotify"))
    assert sorted(app.endpoints) == sorted(endpoint.key for endpoint in spec.endpoints)
    assert spec.servers[0].url() == app.base


@pytest.mark.parametrize("line", list(HANDLERS))
def test_every_success_conforms(line: str, world: World, validate: Any) -> None:
    rng = Random(line)
    for _ in range(2):
        app = MusicApp(world)
        episode = Episode(app, app.credentials)
        for _ in range(4 if line.endswith("previous") else 0):  # past the queue: it has no way back
            episode.request("POST", "/me/player/next")
        method, path, query, body = request(line, world, rng)
        entry = episode.request(method, path, query, body)
        assert entry.endpoint == line and entry.status in (200, 201, 204), (path, entry.text)
        validate(line, entry.status, entry.json)
        if method == "GET":
            assert app.world is world
        else:
            validate("GET /me/player", 200, episode.get("/me/player"))
            validate("GET /me/playlists", 200, episode.get("/me/playlists"))


def test_missing_and_wrong_tokens(app: MusicApp) -> None:
    for headers in ({}, {"Authorization": "Bearer nope"}, {"authorization": "restbench"}):
        assert app.handle("GET", "/me", {}, headers).json["error"]["status"] == 401
        assert app.handle("PUT", "/me/player/pause", {}, headers).status == 401
    assert app.world.state.player.playing
    assert app.handle("GET", "https://api.spotify.com/v1/me?x=1", {}, app.credentials).status == 200


UNKNOWN = "4aawyAB9vmqN3uQ7FjRGTy"


@pytest.mark.parametrize(
    ("method", "url", "body", "status"),
    [
        ("GET", f"/albums/{UNKNOWN}", "", 404),
        ("GET", "/albums/abc", "", 400),
        ("GET", "/albums/{id}", "", 400),
        ("GET", "/track/1", "", 404),
        ("GET", "/reset", "", 404),
        ("GET", "/world", "", 404),
        ("GET", "", "", 404),
        ("GET", "https://elsewhere.example/v1/me", "", 404),
        ("GET", "http://[", "", 404),
        ("GET", "/search", "", 400),
        ("GET", "/search?q=x", "", 400),
        ("GET", "/search?type=track", "", 400),
        ("GET", "/search?q=x&type=song", "", 400),
        ("GET", "/search?q=x&type=track&limit=51", "", 400),
        ("GET", "/me/tracks?limit=0", "", 400),
        ("GET", "/me/tracks?offset=-1", "", 400),
        ("GET", "/me/tracks?limit=ten", "", 400),
        ("GET", "/me/top/albums", "", 404),
        ("GET", "/me/following", "", 400),
        ("GET", "/recommendations", "", 400),
        ("PATCH", "/me/tracks", "", 405),
        ("DELETE", "/me/player", "", 405),
        ("PUT", "/me/tracks", "", 400),
        ("PUT", "/me/tracks?ids=spotify:track:4aawyAB9vmqN3uQ7FjRGTy", "", 400),
        ("PUT", f"/me/tracks?ids={UNKNOWN}", "", 404),
        ("PUT", f"/me/following?ids={UNKNOWN}", "", 400),
        ("PUT", "/me/player/play", "", 403),
        ("PUT", "/me/player/play", '{"context_uri": "spotify:album:x"}', 400),
        ("PUT", "/me/player/play", "{", 400),
        ("PUT", "/me/player/play", "[1]", 400),
        ("PUT", "/me/player/play?device_id=none", '{"uris": []}', 404),
        ("PUT", "/me/player/volume", "", 400),
        ("PUT", "/me/player/volume?volume_percent=101", "", 400),
        ("PUT", "/me/player/repeat?state=on", "", 400),
        ("POST", "/me/player/previous", "", 403),
        ("POST", "/me/player/queue", "", 400),
        ("POST", "/users/smedjan/playlists", '{"name": "x"}', 403),
        ("PUT", f"/playlists/{UNKNOWN}", '{"name": "x"}', 404),
    ],
)
def test_errors_are_the_services(app: MusicApp, world: World, method: str, url: str, body: str, status: int) -> None:
    reply = app.handle(method, url, {}, app.credentials, body.encode())
    assert (reply.status, reply.json["error"]["status"]) == (status, status)
    assert app.world is world


def test_playlists_of_others_cannot_be_changed(app: MusicApp, world: World, episode: Episode) -> None:
    found = episode.get("/search", q="My Rock", type="playlist")["playlists"]["items"]
    assert found and all(each["owner"]["id"] != world.catalogue.user.id for each in found)
    track = next(iter(world.catalogue.tracks))
    path, uri = f"/playlists/{found[0]['id']}", f"spotify:track:{track}"
    assert episode.request("PUT", path, body={"name": "x"}).status == 403
    assert episode.request("POST", f"{path}/tracks", body={"uris": [uri]}).status == 403
    assert episode.request("DELETE", f"{path}/tracks", body={"tracks": [{"uri": uri}]}).status == 403
    assert app.world is world


def test_the_documented_initial_state(world: World, episode: Episode) -> None:
    names = [each["name"] for each in episode.get("/me/following", type="artist")["artists"]["items"]]
    assert sorted(names) == ["Lana Del Rey", "The Beatles", "Whitney Houston"]
    albums = episode.get("/me/albums")["items"]
    assert {each["album"]["name"] for each in albums} == {"Born To Die", "reputation"}
    tops: dict[str, list[str]] = {}
    for each in episode.get("/me/following", type="artist")["artists"]["items"]:
        tracks = episode.get(f"/artists/{each['id']}/top-tracks", market="US")["tracks"]
        tops[each["name"]] = [track["id"] for track in tracks[:3]]
    library = {each["track"]["id"] for each in episode.get("/me/tracks")["items"]}
    assert library == {*tops["Lana Del Rey"], *tops["Whitney Houston"]}
    lists = {each["name"]: each["id"] for each in episode.get("/me/playlists")["items"][:2]}
    for name, artist in (("My R&B", "Whitney Houston"), ("My Rock", "The Beatles")):
        items = episode.get(f"/playlists/{lists[name]}/tracks")["items"]
        assert [each["track"]["id"] for each in items] == tops[artist]
    player = episode.get("/me/player")
    assert player["item"]["album"]["name"] == "Born To Die" and player["is_playing"] is True
    assert player["device"]["name"] == "My PC" and player["repeat_state"] == "off" and player["shuffle_state"] is False
    assert player["item"]["id"] not in library


def test_paging_covers_a_list_once(episode: Episode) -> None:
    beatles = next(
        each
        for each in episode.get("/me/following", type="artist")["artists"]["items"]
        if each["name"] == "The Beatles"
    )
    path, ids = f"/artists/{beatles['id']}/albums?limit=20", []
    while path:
        body = episode.get(path)
        ids += [each["id"] for each in body["items"]]
        path = (body["next"] or "").replace("https://api.spotify.com/v1", "")
    assert len(ids) == len(set(ids)) == body["total"] > 40
    dates = [each["release_date"] for each in episode.get(f"/artists/{beatles['id']}/albums")["items"]]
    assert max(dates) != dates[0] or dates != sorted(dates, reverse=True)


def test_cursors_cover_the_history_once(episode: Episode) -> None:
    first = episode.get("/me/player/recently-played", limit=30)
    rest = episode.get("/me/player/recently-played", limit=30, before=first["cursors"]["before"])
    times = [each["played_at"] for each in first["items"] + rest["items"]]
    assert len(times) == first["total"] and times == sorted(set(times), reverse=True) and "next" not in rest


def test_first_hit_of_a_search_is_not_always_meant(episode: Episode) -> None:
    artists = [each["name"] for each in episode.get("/search", q="Taylor Swift", type="artist")["artists"]["items"]]
    assert artists[0] != "Taylor Swift" and artists.count("Taylor Swift") == 2
    tracks = episode.get("/search", q="Summertime Sadness Lana Del Rey", type="track")["tracks"]["items"]
    assert tracks[0]["name"] != "Summertime Sadness"
    episode.get("/search", q="Taylor Swift", type="track", limit=50)
    assert len(episode.log[-1].text or "") / 4 > 20_000  # tokens, at four characters each
    found = episode.get("/search", q="track:Summertime Sadness artist:Lana Del Rey", type="track")["tracks"]["items"]
    assert {each["artists"][0]["name"] for each in found} == {"Lana Del Rey", "Lana Del Rey Karaoke Stars"}


def test_snapshots_change_with_every_write(episode: Episode, world: World) -> None:
    path = f"/playlists/{world.state.playlists[0].id}"
    track = next(iter(world.catalogue.tracks))
    seen = [episode.get(path)["snapshot_id"]]
    seen.append(episode.request("POST", f"{path}/tracks", {"uris": f"spotify:track:{track}", "position": 1}).json)
    assert episode.get(path)["tracks"]["items"][1]["track"]["id"] == track
    assert episode.get(path)["snapshot_id"] == seen[1]["snapshot_id"] != seen[0]
    body = {"tracks": [{"uri": f"spotify:track:{track}"}], "snapshot_id": "nonsense"}
    assert episode.request("DELETE", f"{path}/tracks", body=body).status == 400
    assert episode.request("DELETE", f"{path}/tracks", body={**body, "snapshot_id": seen[0]}).status == 200
    assert track not in [each["track"]["id"] for each in episode.get(path)["tracks"]["items"]]


def test_player_rules(episode: Episode, world: World) -> None:
    start = world.state.player
    coming = [each["id"] for each in episode.get("/me/player/queue")["queue"]]
    assert coming == [*start.queued, *start.after][:20]
    for key in coming[:4]:
        assert episode.request("POST", "/me/player/next").status == 204
        assert episode.get("/me/player/currently-playing")["item"]["id"] == key
    assert episode.request("PUT", "/me/player/pause").status == 204
    assert episode.request("PUT", "/me/player/pause").status == 403
    assert episode.request("PUT", "/me/player/play").status == 204
    own = world.state.playlists[0]
    body = {"context_uri": own.uri, "offset": {"position": "2"}}
    phone = next(each["id"] for each in episode.get("/me/player/devices")["devices"] if each["name"] == "Old Phone")
    assert episode.request("PUT", "/me/player/play", {"device_id": phone}, body).status == 204
    state = episode.get("/me/player")
    assert state["item"]["id"] == own.items[2].id and state["context"]["uri"] == own.uri
    assert state["device"]["name"] == "Old Phone"
    assert episode.request("POST", "/me/player/next").status == 204
    assert episode.get("/me/player")["item"]["id"] == own.items[0].id and not episode.get("/me/player")["is_playing"]


def test_throttle_answers_429(world: World) -> None:
    app = MusicApp(world, throttle=3)
    replies = [app.handle("GET", "/me", {}, app.credentials) for _ in range(6)]
    assert [reply.status for reply in replies] == [200, 200, 429, 200, 200, 429]
    assert replies[2].headers["retry-after"] == "1"


def test_two_builds_answer_byte_for_byte_and_reset_restores(world: World, app: MusicApp) -> None:
    build.cache_clear()
    other = MusicApp(build(1))
    rng, first = Random(5), []
    asked = [request(line, world, rng) for line in HANDLERS]
    for method, path, query, body in asked:
        sent = b"" if body is None else json.dumps(body).encode()
        first.append(app.handle(method, path, query, app.credentials, sent))
        assert first[-1] == other.handle(method, path, query, app.credentials, sent)
    app.reset()
    assert app.world is world
    again = [app.handle(m, p, q, app.credentials, b"" if b is None else json.dumps(b).encode()) for m, p, q, b in asked]
    assert again == first


def test_counterfactual_keeps_names_and_changes_facts(world: World) -> None:
    one, two, other = world.catalogue, build(1, True).catalogue, build(2).catalogue
    assert {k: a.title for k, a in one.albums.items()} == {k: a.title for k, a in two.albums.items()}
    assert {k: t.title for k, t in one.tracks.items()} == {k: t.title for k, t in two.tracks.items()}
    assert sum(one.albums[key].date == two.albums[key].date for key in one.albums) < 5
    assert one.top_artists != two.top_artists and one.user.name != two.user.name
    assert not set(one.tracks) & set(other.tracks)


SEGMENT = st.one_of(
    st.sampled_from(sorted({part for line in HANDLERS for part in line.split("/")[1:] if part})), st.text(max_size=8)
)
NAMES = st.one_of(
    st.sampled_from(["limit", "offset", "q", "type", "ids", "uris", "position", "state", "volume_percent", "after"]),
    st.sampled_from(["before", "device_id", "include_groups", "time_range", "seed_genres", "market", "uri"]),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = ["ids", "uris", "tracks", "name", "public", "context_uri", "offset", "position_ms", "position", "snapshot_id"]
BODIES = st.one_of(
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4).map(json.dumps),
    JSON.map(json.dumps),
    st.text(max_size=8),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.tuples(st.sampled_from(list(HANDLERS)), st.integers(0, 7)), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    swap=st.lists(SEGMENT, max_size=4),
    query=st.dictionaries(NAMES, st.one_of(st.text(max_size=12), st.integers(-3, 3000).map(str)), max_size=3),
    content=BODIES,
)
def test_fuzz_never_breaks(
    world: World,
    validate: Any,
    calls: list[tuple[str, int]],
    seed: int,
    swap: list[str],
    query: dict[str, str],
    content: str,
) -> None:
    app, rng = MusicApp(world), Random(seed)
    for line, bits in calls:
        method, path, asked, body = request(line, app.world, rng) if app.world.state.playlists[0].items else (
            "GET", "/me", {}, None
        )  # fmt: skip
        path = "/" + "/".join(swap) if bits == 0 else path
        sent = (
            content.encode("utf-8", "surrogatepass") if bits & 1 else b"" if body is None else json.dumps(body).encode()
        )
        asked = {**asked, **query} if bits & 2 else asked
        before = app.world
        reply = app.handle(method, path, asked, app.credentials, sent)
        assert reply.status in {200, 201, 204, 400, 403, 404, 405}
        if reply.status < 300:
            meant = Episode(MusicApp(world), app.credentials).request(method, path).endpoint
            assert meant is not None
            validate(meant, reply.status, reply.json)
        else:
            assert set(reply.json["error"]) <= {"status", "message", "reason"} and app.world is before
