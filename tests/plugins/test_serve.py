"""The plugin server: the exchange, every status code and error body, its documents, and a real connection."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from fastapi.testclient import TestClient

from toolkit.errors import UserError
from toolkit.plugins.from_openapi import draft
from toolkit.plugins.manifest import builtin, read
from toolkit.plugins.science import plugin as science_plugin
from toolkit.plugins.serve import MAX_BODY, find_plugin, make_app
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.http import HttpSettings
from toolkit.tools.outcome import Turn

from .test_python_plugin import sample


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(sample()), raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("path", "body", "status", "answer"),
    [
        ("UP", {"api": "UP", "arguments": "ab", "history": []}, 200, {"result": "AB"}),
        ("UP", {"api": "UP", "arguments": "ab", "later": 1}, 200, {"result": "AB"}),
        ("Two", {"api": "Two"}, 200, {"result": "2"}),
        ("UP", {"api": "UP", "arguments": "AB"}, 422, {"error": "the argument does not match the pattern of UP"}),
        ("Two", {"api": "Two", "arguments": "1"}, 422, {"error": "the argument does not match the pattern of Two"}),
        ("UP", {"api": "UP", "arguments": "none"}, 404, {"error": "nothing here"}),
        ("UP", {"api": "UP", "arguments": "crash"}, 500, {"error": "the function failed"}),
        ("UP", {"api": "Two"}, 400, {"error": "this is the address of UP"}),
        ("UP", {"arguments": "x"}, 400, {"error": "api: Field required"}),
        ("UP", [1], 400, {"error": "body: Input should be an object"}),
        ("UP", {"api": "UP", "arguments": 3}, 400, {"error": "arguments: Input should be a valid string"}),
        ("NONE", {"api": "NONE"}, 404, {"error": "Not Found"}),
    ],
)
def test_status_and_body(client: TestClient, path: str, body: object, status: int, answer: object) -> None:
    response = client.post(f"/api/{path}", json=body)
    assert (response.status_code, response.json()) == (status, answer)


def test_bodies_that_are_no_json_or_too_large(client: TestClient) -> None:
    assert client.post("/api/UP", content=b"{").status_code == 400
    assert client.post("/api/UP", content=b"[" * 100_000).status_code == 400
    assert client.post("/api/UP", content=b" " * (MAX_BODY + 1)).status_code == 413
    assert client.get("/api/UP").json() == {"error": "Method Not Allowed"}


def test_history_is_cut_to_what_the_api_asks_for(client: TestClient) -> None:
    turns = [{"role": "user", "text": text} for text in "abc"]
    response = client.post("/api/LAST", json={"api": "LAST", "arguments": "x", "history": turns})
    assert response.json() == {"result": "x/b|c"}
    wrong = client.post("/api/LAST", json={"api": "LAST", "history": [{"role": "system", "text": ""}]})
    assert wrong.status_code == 400


def test_documents(client: TestClient) -> None:
    reading = read(client.get("/manifest.json").text)
    assert reading.manifest == sample().manifest()
    assert client.get("/health").json() == {"status": "ok", "plugin": "Sample"}
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/manifest.json", "/health", "/api/UP", "/api/Two", "/api/LAST"}
    assert set(paths["/api/UP"]["post"]["responses"]) == {"200", "400", "404", "413", "422", "500"}


@pytest.fixture
def science_url() -> Iterator[str]:
    """The science plugin at a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(make_app(science_plugin), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def test_a_served_plugin_answers_as_the_local_one(science_url: str) -> None:
    manifest = science_plugin.manifest(science_url)
    settings = {manifest.name: HttpSettings(private_hosts=frozenset({"127.0.0.1"}))}
    toolbox = load_toolbox([manifest], settings=settings)
    results = [toolbox.run("MATH", text) for text in ("123 ^ 456", "1 / 0")]
    assert [(outcome.status, outcome.text) for outcome in results] == [
        ("ok", "435"),
        ("error", "HTTP 404: division by zero"),
    ]
    assert toolbox.run("SEARCH", "earth population", [Turn("user", "hi")]).text == "7.888 billion (2021)"


def test_importing_the_servers_openapi_document_recovers_the_apis(tmp_path: Path) -> None:
    app = make_app(science_plugin)
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(app.openapi() | {"servers": [{"url": "https://example.tld"}]}))
    apis = draft(str(file)).manifest.apis
    for name, api in builtin().apis.items():
        assert apis[name].url == f"https://example.tld/api/{name}"
        assert apis[name].arguments == api.arguments
    assert "[MATH(123 + 456) -> 579]" in apis["MATH"].examples[0][1]


def test_find_plugin_names_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("broken_module.py").write_text("1 / 0")
    Path("other_module.py").write_text("plugin = 3")
    assert find_plugin("toolkit.plugins.science:plugin") is science_plugin
    for target, message in [
        ("science", "does not name a plugin"),
        ("not_a_module_here:plugin", "there is no module not_a_module_here"),
        ("broken_module:plugin", "the module fails at import: ZeroDivisionError"),
        ("other_module:plugin", "plugin is not a Plugin in module other_module"),
        ("other_module:plug", "plug does not exist in module other_module"),
    ]:
        with pytest.raises(UserError, match=message):
            find_plugin(target)
