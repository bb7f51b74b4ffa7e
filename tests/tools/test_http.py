"""The endpoint tool against servers that answer, refuse, lie, stall and attack."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx2
import pytest

from tests.tools.local_server import Answer, LocalServer, Request, response, result
from toolkit.errors import UserError
from toolkit.tools import network
from toolkit.tools.http import Endpoint, HttpClient, HttpSettings, endpoint, may_follow, read_answer
from toolkit.tools.network import is_public
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import Toolbox

SETTINGS = HttpSettings(seconds=5.0, backoff=0.001, max_bytes=1000, private_hosts=frozenset({"127.0.0.1"}))


def always(data: bytes | None) -> Answer:
    async def answer(request: Request) -> bytes | None:
        return data

    return answer


def in_turn(*data: bytes | None) -> Answer:
    async def answer(request: Request) -> bytes | None:
        return data[min(request.number, len(data) - 1)]

    return answer


@pytest.fixture
def client() -> Iterator[HttpClient]:
    client = HttpClient(SETTINGS)
    yield client
    client.close()


def run_once(answer: Answer, client: HttpClient) -> tuple[Outcome, list[Request]]:
    with LocalServer({"/": answer}) as server:
        return endpoint("MATH", server.url("/"), client).run("1 + 2"), server.seen


def test_the_exchange(client: HttpClient) -> None:
    with LocalServer({"/math": always(result("3"))}) as server:
        tool = endpoint("MATH", server.url("/math"), client)
        outcome = tool.run("1 + 2", [Turn("user", "é?"), Turn("assistant", "b")])
    assert outcome == Outcome("ok", "3")
    history = [{"role": "user", "text": "é?"}, {"role": "assistant", "text": "b"}]
    assert server.seen[0].body == {"api": "MATH", "arguments": "1 + 2", "history": history}
    assert "authorization" not in server.seen[0].headers
    assert not tool.inline


@pytest.mark.parametrize(
    ("status", "kind", "body", "outcome"),
    [
        (200, "application/json; charset=utf-8", b'{"result": "a", "more": 1}', Outcome("ok", "a")),
        (200, "application/json", b'{"result": 3}', Outcome("ok", "3")),
        (200, "application/json", b'{"result": true}', Outcome("ok", "true")),
        (200, "text/plain", b"3\n", Outcome("ok", "3\n")),
        (200, "text/plain", b"\xff!", Outcome("ok", "\ufffd!")),
        (200, "application/json", b'{"result": "\xff"}', None),
        (200, "application/json", b'{"result": null}', None),
        (200, "application/json", b'["result"]', None),
        (200, "application/json", b"[" * 60_000, None),
        (200, "application/json", b'{"result": ' + b"9" * 10_000 + b"}", None),
        (200, "application/json", b"", None),
        (200, "text/html", b"<html>", None),
        (200, "", b"3", None),
        (204, "text/plain", b"", Outcome("error", "HTTP 204")),
        (404, "text/html", b"<html>", Outcome("error", "HTTP 404")),
        (404, "application/json", b'{"error": "no\\nsuch"}', Outcome("error", "HTTP 404: no such")),
        (400, "application/json", b'{"error": "bad"}', Outcome("refused", "HTTP 400: bad")),
        (422, "application/json", b'{"error": 5}', Outcome("refused", "HTTP 422")),
    ],
)
def test_answers(status: int, kind: str, body: bytes, outcome: Outcome | None) -> None:
    found = read_answer(status, kind, body)
    assert found == outcome if outcome else found.status == "error"


@pytest.mark.parametrize(
    ("answer", "status", "requests"),
    [
        (in_turn(response(b"", "500 No"), response(b"", "429 Slow"), result("3")), "ok", 3),
        (always(response(b"", "503 No")), "error", 3),
        (in_turn(None, result("3")), "ok", 2),
        (always(None), "error", 3),
        (always(response(b"", "404 No")), "error", 1),
        (always(response(b"", "400 No")), "refused", 1),
        (always(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\nContent-Type: text/plain\r\n\r\nshort"), "timeout", 1),
        (always(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "error", 3),
        (always(b"I am no HTTP server at all\r\n\r\n"), "error", 3),
        (always(response(b"x" * 1001, kind="text/plain")), "error", 1),
        (always(response(gzip.compress(b"3"), "200 OK", "text/plain", "Content-Encoding: gzip")), "error", 1),
        (always(response(b"", "200 OK", "text/plain", "X: " + "x" * 200_000)), "error", 3),
        (always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "error", 1),
        (always(response(b"", "302 Found", "text/plain", "Location: /other")), "error", 1),
        (always(response(b"", "308 Moved", "text/plain", "Location: http://example.com/")), "refused", 1),
        (always(response(b"", "308 Moved", "text/plain", "Location: ftp://127.0.0.1/")), "error", 1),
        (always(response(b"", "308 Moved", "text/plain", "Location: /")), "error", 4),
    ],
)
def test_a_bad_endpoint_costs_its_own_call(answer: Answer, status: str, requests: int) -> None:
    client = HttpClient(replace(SETTINGS, seconds=0.5) if status == "timeout" else SETTINGS)
    outcome, seen = run_once(answer, client)
    assert (outcome.status, len(seen)) == (status, requests), outcome.text
    assert "\n" not in outcome.text
    assert run_once(always(result("3")), client)[0] == Outcome("ok", "3")
    client.close()


def test_a_redirect_within_the_host_keeps_the_call(client: HttpClient) -> None:
    moved = response(b"", "307 Moved", "text/plain", "Location: /new")
    with LocalServer({"/": always(moved), "/new": always(result("3"))}) as server:
        assert endpoint("MATH", server.url("/"), client).run("1 + 2") == Outcome("ok", "3")
        assert server.seen[1].body["arguments"] == "1 + 2"


@pytest.mark.parametrize(
    ("origin", "target", "allowed"),
    [
        ("https://a.example/x", "https://a.example:444/y", True),
        ("http://a.example/", "https://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("https://a.example/", "https://b.a.example/", False),
    ],
)
def test_redirects_that_may_be_followed(origin: str, target: str, allowed: bool) -> None:
    assert may_follow(httpx2.URL(origin), httpx2.URL(target)) is allowed


def test_a_slow_endpoint_does_not_hold_up_others() -> None:
    client = HttpClient(replace(SETTINGS, seconds=0.3))
    release = asyncio.Event()

    async def stall(request: Request) -> bytes | None:
        await release.wait()
        return None

    with LocalServer({"/slow": stall, "/fast": always(result("3"))}) as server, ThreadPoolExecutor(4) as threads:
        slow = [threads.submit(endpoint("A", server.url("/slow"), client).run, "") for _ in range(3)]
        assert endpoint("B", server.url("/fast"), client).run("") == Outcome("ok", "3")
        assert [one.result().status for one in slow] == ["timeout"] * 3
        client._loop.loop.call_soon_threadsafe(release.set)
    client.close()


def test_a_dripping_body_ends_at_the_deadline() -> None:
    """Each byte comes within any read timeout; only a deadline for the whole call ends it."""
    client = HttpClient(replace(SETTINGS, seconds=0.3, max_bytes=10**9))

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    server = client._loop.run(asyncio.start_server(drip, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    assert endpoint("A", f"http://127.0.0.1:{port}/", client).run("").status == "timeout"
    client._loop.loop.call_soon_threadsafe(server.close)
    client.close()


def test_nobody_listens(client: HttpClient) -> None:
    with LocalServer({}) as server:
        url = server.url("/")
    client._loop.run(server.server.wait_closed())
    assert endpoint("A", url, client).run("").status == "error"


def test_connections_are_reused_and_cookies_dropped(client: HttpClient) -> None:
    answer = response(b'{"result": "3"}', "200 OK", "application/json", "Set-Cookie: id=1")
    with LocalServer({"/": always(answer)}) as server:
        tool = endpoint("MATH", server.url("/"), client)
        assert [tool.run("").text for _ in range(5)] == ["3"] * 5
    assert server.connections == 1
    assert all("cookie" not in request.headers for request in server.seen)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0.0.0.0", "10.0.0.1", "192.168.1.1",
     "172.16.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
     "[2002:7f00:1::]",     "224.0.0.1"],
)  # fmt: skip
def test_private_addresses_are_refused(host: str) -> None:
    client = HttpClient(HttpSettings(seconds=5.0))
    assert endpoint("A", f"http://{host}:9/", client).run("").status == "refused"
    client.close()


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)


def test_rebinding_the_name_does_not_help(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is asked once per connection, and what was checked is what is connected to."""
    asked: list[str] = []
    connected: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"] if len(asked) == 1 else ["127.0.0.1"]

    async def connect(self: object, address: str, *_: object) -> None:
        connected.append(address)
        raise network.httpcore2.ConnectError("no network here")

    monkeypatch.setattr(network, "resolve", resolve)
    monkeypatch.setattr(network.httpcore2.AnyIOBackend, "connect_tcp", connect)
    outcome = endpoint("A", "http://rebind.example/", client).run("")
    assert outcome.status == "refused" and "127.0.0.1" in outcome.text
    assert (asked, connected) == (["rebind.example"] * 2, ["8.8.8.8"])


def test_one_private_address_among_public_ones_refuses_the_host(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["8.8.8.8", "10.0.0.1"]

    monkeypatch.setattr(network, "resolve", resolve)
    assert endpoint("A", "http://mixed.example/", client).run("").status == "refused"


def test_the_secret_goes_to_the_plugins_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_KEY", "s3cret")
    client = HttpClient(replace(SETTINGS, secret_env="DEMO_KEY"))
    with LocalServer({"/": always(result("3"))}) as server:
        tool = endpoint("MATH", server.url("/"), client)
        assert tool.run("").ok and "s3cret" not in repr(tool)
        assert server.seen[0].headers["authorization"] == "Bearer s3cret"
    with pytest.raises(UserError, match="unencrypted"):
        endpoint("MATH", "http://example.com/", client)
    monkeypatch.setenv("DEMO_KEY", "two\nlines")
    with pytest.raises(UserError, match="DEMO_KEY"):
        endpoint("MATH", "https://example.com/", client)
    client.close()


@pytest.mark.parametrize(
    "url", ["", "ftp://a.example/", "http://", "https://u:p@a.example/", "http://a.example:99999/", "a b"]
)
def test_unusable_urls_are_the_users_mistake(url: str, client: HttpClient) -> None:
    with pytest.raises(UserError, match="url of MATH"):
        endpoint("MATH", url, client)


@pytest.mark.slow
def test_a_thousand_concurrent_calls_lose_none() -> None:
    settings = replace(SETTINGS, seconds=60.0, concurrency=64)
    client = HttpClient(settings)

    async def echo(request: Request) -> bytes | None:
        await asyncio.sleep(0.01)
        return result(request.body["arguments"])

    with LocalServer({"/": echo}) as server, ThreadPoolExecutor(1000) as threads:
        tool: Endpoint = endpoint("ECHO", server.url("/"), client)
        toolbox = Toolbox({"ECHO": tool})
        texts = list(threads.map(lambda number: toolbox.run("ECHO", str(number)).text, range(1000)))
    assert texts == [str(number) for number in range(1000)]
    assert len(server.seen) == 1000 and server.connections <= 64
    client.close()
