"""The music service for agents outside this process: writes last between requests, nothing but the service answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.restbench.data import spec_file
from experiments.restbench.music.app import MusicApp
from experiments.restbench.serve import in_process, make_app
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.spec import load_spec


def test_the_client_of_the_planner_writes_to_it(shared_data: Path, app: MusicApp) -> None:
    spec = load_spec(spec_file(shared_data / "restbench", "spotify"))
    with RestClient(spec, transport=in_process(app, app.credentials)) as client:
        user = client.call(RestCall("GET", "/me")).json["id"]
        made = client.call(RestCall("POST", f"/users/{user}/playlists", body={"name": "Mine"}))
        assert made.ok and made.status == 201 and made.endpoint == "POST /users/{user_id}/playlists"
        uri = client.call(RestCall("GET", "/me/player/currently-playing")).json["item"]["uri"]
        path = f"/playlists/{made.json['id']}/tracks"
        assert client.call(RestCall("POST", path, query={"uris": uri})).status == 201
        assert client.call(RestCall("GET", path)).json["total"] == 1
        assert client.call(RestCall("DELETE", path, body={"tracks": [{"uri": uri}]})).ok
        assert client.call(RestCall("GET", path)).json["total"] == 0
        assert client.call(RestCall("PUT", "/me/player/pause")).status == 204
    assert app.world.state.playlists[0].name == "Mine" and not app.world.state.player.playing
    with RestClient(spec, transport=in_process(app)) as client:
        assert client.call(RestCall("GET", "/me")).error == "unauthorized"


@pytest.mark.parametrize("path", ["/reset", "/world", "/state", "/log", "/docs", "/v1", "/v1/reset"])
def test_state_and_reset_have_no_path(path: str) -> None:
    app = make_app("spotify", 3, True, "secret", None)
    for method in ("GET", "POST", "PUT", "DELETE"):
        assert app.handle(method, path, {}, {"Authorization": "Bearer secret"}).status == 404
