"""The simulated music service: one function from a request to an answer, and the state of one account behind it. It
checks the token, the path and the body; what an endpoint does is in `reads` and `writes`. `world` and `reset` belong
to whoever holds the object and have no path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from experiments.restbench.music import reads, writes
from experiments.restbench.music.render import BASE
from experiments.restbench.music.request import Refused, Request, Result
from experiments.restbench.music.world import World
from experiments.restbench.service import Response, answer
from toolkit.restgpt.spec_router import Router

TOKEN = "restbench"
_MAX_BODY = 1 << 20
_MAX_TEXT = 8000

Handler = Callable[[World, Request], Result]
HANDLERS: dict[str, Handler] = {
    "GET /albums/{id}": reads.album,
    "GET /albums/{id}/tracks": reads.album_tracks,
    "GET /artists/{id}": reads.artist,
    "GET /artists/{id}/albums": reads.artist_albums,
    "GET /artists/{id}/related-artists": reads.related_artists,
    "GET /artists/{id}/top-tracks": reads.top_tracks,
    "GET /browse/new-releases": reads.new_releases,
    "GET /me": reads.me,
    "GET /me/albums": reads.my_albums,
    "PUT /me/albums": writes.save_albums,
    "DELETE /me/albums": writes.remove_albums,
    "GET /me/following": reads.my_following,
    "PUT /me/following": writes.follow,
    "DELETE /me/following": writes.unfollow,
    "GET /me/player": reads.player,
    "GET /me/player/currently-playing": reads.currently_playing,
    "GET /me/player/devices": reads.devices,
    "POST /me/player/next": writes.skip,
    "PUT /me/player/pause": writes.pause,
    "PUT /me/player/play": writes.play,
    "POST /me/player/previous": writes.back,
    "GET /me/player/queue": reads.queue,
    "POST /me/player/queue": writes.enqueue,
    "GET /me/player/recently-played": reads.recently_played,
    "PUT /me/player/repeat": writes.repeat,
    "PUT /me/player/volume": writes.volume,
    "GET /me/playlists": reads.my_playlists,
    "GET /me/top/{type}": reads.my_top,
    "GET /me/tracks": reads.my_tracks,
    "PUT /me/tracks": writes.save_tracks,
    "DELETE /me/tracks": writes.remove_tracks,
    "GET /playlists/{playlist_id}": reads.playlist,
    "PUT /playlists/{playlist_id}": writes.change_playlist,
    "GET /playlists/{playlist_id}/tracks": reads.playlist_tracks,
    "POST /playlists/{playlist_id}/tracks": writes.add_items,
    "DELETE /playlists/{playlist_id}/tracks": writes.remove_items,
    "GET /recommendations": reads.recommendations,
    "GET /search": reads.search,
    "GET /tracks/{id}": reads.track,
    "POST /users/{user_id}/playlists": writes.create_playlist,
}
_METHODS = ("GET", "PUT", "POST", "DELETE")


class MusicApp:
    """The service over one account. `throttle`: every so many requests one is answered 429 (None: never)."""

    name = "spotify"
    base = BASE
    endpoints = tuple(HANDLERS)

    def __init__(self, world: World, token: str = TOKEN, throttle: int | None = None) -> None:
        self._initial, self._token, self._throttle = world, token, throttle
        self._requests = 0
        self.world = world  # as it is now; a snapshot is this very object, since worlds are never changed in place
        self._router = Router([(line.split(" ")[0], line.split(" ")[1], line) for line in HANDLERS])

    @property
    def credentials(self) -> dict[str, str]:
        """The header that lets a request in."""
        return {"authorization": f"Bearer {self._token}"}

    def reset(self) -> None:
        """Put the account back into its initial state."""
        self.world, self._requests = self._initial, 0

    def handle(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """Answer one request; see `service.App`. The token comes as a bearer token."""
        self._requests += 1
        if self._throttle and self._requests % self._throttle == 0:
            return _error(Refused(429, "API rate limit exceeded"), {"retry-after": "1"})
        try:
            return self._answer(method.upper(), url, query, headers, body)
        except Refused as refused:
            return _error(refused)

    def _answer(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Response:
        self._admit(headers)
        try:
            parts = urlsplit(url)
        except ValueError:
            raise Refused(404, "Service not found") from None
        path = parts.path.removeprefix("/v1") if parts.path.startswith("/v1/") else parts.path
        if parts.netloc not in ("", urlsplit(BASE).netloc):
            raise Refused(404, "Service not found")
        route = self._router.route(method, path) if method in _METHODS else None
        if route is None:
            other = any(self._router.route(each, path) for each in _METHODS)
            raise Refused(405, "Method not allowed") if other else Refused(404, "Service not found")
        asked = {**dict(parse_qsl(parts.query)), **query}
        given = {name: _clean(text) for name, text in asked.items() if text != ""}
        content = {} if method == "GET" else _parsed(body)
        result = HANDLERS[route.target](self.world, Request(route.values, given, content))
        if result.state is not None:
            self.world = self.world.at(result.state)
        return Response(result.status) if result.content is None else answer(result.content, result.status)

    def _admit(self, headers: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in headers.items()}.get("authorization", "")
        if not given:
            raise Refused(401, "No token provided")
        if given != f"Bearer {self._token}":
            raise Refused(401, "Invalid access token")


def _clean(text: str) -> str:
    """A query value of bounded length that can be written out again."""
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode()


def _parsed(body: bytes) -> Any:
    if not body.strip():
        return {}
    if len(body) > _MAX_BODY:
        raise Refused(413, "Body too large")
    try:
        content = json.loads(body)
        json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair could never be shown again
        return content
    except (ValueError, RecursionError):
        raise Refused(400, "Error parsing JSON.") from None


def _error(refused: Refused, headers: Mapping[str, str] | None = None) -> Response:
    reason = {} if refused.reason is None else {"reason": refused.reason}
    error = {"status": refused.status, "message": refused.message, **reason}
    return answer({"error": error}, refused.status, headers)
