"""What servers do, well and badly, over real sockets where it matters; every outcome is an Exchange."""

from __future__ import annotations

import gzip
import json
import logging
from typing import Any

import httpx2
import pytest
from small_spec import Answerer, drip, raw_server, small_spec, whole

from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import HttpLimits, RestClient, retry_after
from toolkit.restgpt.safe_json import parse_json

QUICK = HttpLimits(seconds=10, backoff=0.0, max_bytes=200_000)
GET = RestCall("GET", "/items/7")


def answer(response: httpx2.Response, call: RestCall = GET, limits: HttpLimits = QUICK) -> Any:
    return RestClient(small_spec(), transport=lambda request: response, limits=limits).call(call)


def over_a_socket(answerer: Answerer, call: RestCall = GET, limits: HttpLimits = QUICK) -> tuple[Any, list[bytes]]:
    with raw_server(answerer) as (url, requests):
        with RestClient(small_spec(), server=url, credentials={"token": "s3cret-token"}, limits=limits) as rest:
            exchange = rest.call(call)
        return exchange, requests


def message(status: str, headers: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


JSON = {"content-type": "application/json"}
CASES = [
    (httpx2.Response(200, json={"a": 1}), None, {"a": 1}),
    (httpx2.Response(200, content=b"\xef\xbb\xbf[1]", headers=JSON), None, [1]),
    (httpx2.Response(200, content=b'{"a": NaN, "b": 1e999, "c": "\\ud800"}', headers=JSON), None,
     {"a": None, "b": None, "c": "\ufffd"}),
    (httpx2.Response(200, content=gzip.compress(b"[2]"), headers={**JSON, "content-encoding": "gzip"}), None, [2]),
    (httpx2.Response(200, content=b'{"a": 1}'), None, {"a": 1}),
    (httpx2.Response(204), None, None),
    (httpx2.Response(200, content=b"", headers=JSON), None, None),
    (httpx2.Response(401, json={"error": 1}), "unauthorized", {"error": 1}),
    (httpx2.Response(403), "forbidden", None),
    (httpx2.Response(404, text="nope"), "not_found", None),
    (httpx2.Response(404, content=b"<html>\xff", headers={"content-type": "text/html"}), "not_found", None),
    (httpx2.Response(422, json={"detail": []}), "client_error", {"detail": []}),
    (httpx2.Response(429), "rate_limited", None),
    (httpx2.Response(500), "server_error", None),
    (httpx2.Response(503), "server_error", None),
    (httpx2.Response(999), "unexpected_status", None),
    (httpx2.Response(200, html="<html></html>"), "not_json", None),
    (httpx2.Response(200, content=b"<html></html>", headers=JSON), "not_json", None),
    (httpx2.Response(200, content=b'{"a": ', headers=JSON), "not_json", None),
    (httpx2.Response(200, content=b"[" * 100_000, headers=JSON), "not_json", None),
    (httpx2.Response(200, content=b"[" * 500 + b"]" * 500, headers=JSON), "not_json", None),
    (httpx2.Response(200, content=b"9" * 10_000, headers=JSON), "not_json", None),
    (httpx2.Response(200, content=b'{"a": "\xff"}', headers=JSON), "bad_encoding", None),
    (httpx2.Response(200, content=b"x", headers={**JSON, "content-encoding": "gzip"}), "bad_encoding", None),
    (httpx2.Response(200, content=b"x", headers={**JSON, "content-encoding": "br"}), "bad_encoding", None),
    (httpx2.Response(200, content=b"x" * 200_001, headers=JSON), "too_large", None),
    (httpx2.Response(200, content=gzip.compress(bytes(10**7)), headers={"content-encoding": "gzip"}), "too_large",
     None),
]  # fmt: skip


@pytest.mark.parametrize(("response", "error", "data"), CASES)
def test_every_kind_of_answer(response: httpx2.Response, error: str | None, data: Any) -> None:
    exchange = answer(response)
    assert (exchange.error, exchange.json) == (error, data), exchange
    assert exchange.ok == (error is None) and bool(exchange.message) == (error is not None)
    json.dumps(exchange.record(), allow_nan=False).encode("utf-8")


def test_documented_text_is_text() -> None:
    response = httpx2.Response(
        200, content="a,é".encode("latin-1"), headers={"content-type": "text/csv; charset=iso-8859-1"}
    )
    exchange = answer(response, RestCall("GET", "/files/x.csv"))
    assert exchange.ok and exchange.text == "a,é" and exchange.json is None


def test_records_keep_a_bounded_text_but_all_of_the_json() -> None:
    exchange = answer(httpx2.Response(200, json=["x" * 50_000]), limits=HttpLimits(keep_text=100))
    assert exchange.text and len(exchange.text) == 100 and len(exchange.json[0]) == 50_000


def test_over_a_real_socket() -> None:
    exchange, requests = over_a_socket(whole(message("200 OK", "Content-Type: application/json\r\n", b'{"id": 7}')))
    assert exchange.ok and exchange.json == {"id": 7} and exchange.attempts == 1 and exchange.seconds > 0
    assert requests[0].startswith(b"GET /items/7 HTTP/1.1\r\n") and b"Bearer s3cret-token" in requests[0]
    assert "s3cret" not in json.dumps(exchange.record())


SLOW = HttpLimits(seconds=0.4)


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nX: x",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n1",
    ],
    ids=["slow headers", "slow body", "slow body without an end"],
)
def test_a_slow_sender_meets_the_deadline(start: bytes) -> None:
    exchange, _ = over_a_socket(drip(start, 0.002), limits=SLOW)
    assert exchange.error == "timeout" and "within 0.4 s" in exchange.message
    assert 0.3 < exchange.seconds < 5


def test_a_silent_server_meets_the_deadline() -> None:
    import time

    exchange, _ = over_a_socket(lambda connection, _: time.sleep(0.6), limits=SLOW)
    assert exchange.error == "timeout"


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"", "protocol"),
        (b"SSH-2.0-OpenSSH\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "protocol"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, "protocol"),
    ],
)
def test_what_is_not_http(sent: bytes, error: str) -> None:
    assert over_a_socket(whole(sent))[0].error == error


def test_an_endless_body_is_cut() -> None:
    def endless(connection: Any, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        for _ in range(2000):
            connection.sendall(b"1" * 65536)

    exchange, _ = over_a_socket(endless)
    assert exchange.error == "too_large" and exchange.json is None


def test_nobody_there() -> None:
    exchange = RestClient(small_spec(), server="http://127.0.0.1:9", limits=QUICK).call(GET)
    assert exchange.error == "connect" and exchange.was_sent and exchange.message


def redirecting(location: str) -> Answerer:
    def answerer(connection: Any, request: bytes) -> None:
        moved = b"/moved" in request
        found = message("200 OK", "Content-Type: application/json\r\n", b"[1]")
        connection.sendall(found if moved else message("302 Found", f"Location: {location}\r\n"))

    return answerer


def test_a_redirect_on_the_same_server_is_followed() -> None:
    exchange, requests = over_a_socket(redirecting("/moved"))
    assert exchange.json == [1] and len(requests) == 2 and b"s3cret" in requests[1]


def test_a_redirect_to_another_server_is_not_followed() -> None:
    with raw_server(whole(message("200 OK", "", b"[2]"))) as (other, stolen):
        exchange, requests = over_a_socket(redirecting(f"{other}/moved"))
        assert exchange.error == "redirect" and "not followed" in exchange.message
        assert len(requests) == 1 and stolen == []


@pytest.mark.parametrize(
    "location", ["https://evil.test/", "//evil.test/moved", "file:///etc/passwd", "javascript:1", "http://["]
)
def test_redirects_elsewhere(location: str) -> None:
    assert answer(httpx2.Response(302, headers={"location": location})).error in ("redirect", "protocol")


def test_redirect_loops_and_redirected_writes_end() -> None:
    exchange, requests = over_a_socket(redirecting("/items/7"))
    assert exchange.error == "redirect" and len(requests) == QUICK.redirects + 1
    exchange, requests = over_a_socket(redirecting("/moved"), RestCall("DELETE", "/items/7"))
    assert exchange.error == "redirect" and len(requests) == 1


class Flaky:
    def __init__(self, *answers: httpx2.Response) -> None:
        self.answers = list(answers)
        self.count = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.count += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_reads_are_retried_and_writes_are_not() -> None:
    flaky = Flaky(
        httpx2.Response(503), httpx2.Response(429, headers={"retry-after": "0"}), httpx2.Response(200, json=[1])
    )
    exchange = RestClient(small_spec(), transport=flaky, limits=QUICK).call(GET)
    assert exchange.ok and exchange.attempts == 3
    flaky = Flaky(httpx2.Response(503))
    exchange = RestClient(small_spec(), transport=flaky, limits=QUICK).call(GET)
    assert exchange.error == "server_error" and flaky.count == 3 == exchange.attempts
    flaky = Flaky(httpx2.Response(503))
    RestClient(small_spec(), transport=flaky, limits=QUICK).call(RestCall("DELETE", "/items/7"))
    assert flaky.count == 1


def test_a_long_retry_after_is_not_waited_for() -> None:
    flaky = Flaky(httpx2.Response(429, headers={"retry-after": "3600"}))
    exchange = RestClient(small_spec(), transport=flaky, limits=QUICK).call(GET)
    assert (exchange.error, flaky.count) == ("rate_limited", 1)


def test_what_retry_after_asks_for() -> None:
    assert retry_after("7", 0) == 7 and retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 0) == 60
    assert retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 100) == 0
    assert [retry_after(text, 0) for text in ("", "soon", "-1", "1e9", "٣")] == [None] * 5


def test_an_asgi_application_is_called_in_process() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = json.dumps({"path": scope["path"], "query": scope["query_string"].decode()}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    rest = RestClient(small_spec(), transport=app)
    assert rest.call(RestCall("GET", "/items", query={"q": "ü"})).json == {"path": "/v1/items", "query": "q=%C3%BC"}


def test_an_application_that_fails_or_hangs() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("oh")

    async def hanging(scope: Any, receive: Any, send: Any) -> None:
        import asyncio

        await asyncio.sleep(60)

    assert RestClient(small_spec(), transport=broken, limits=QUICK).call(GET).error == "server_error"
    assert RestClient(small_spec(), transport=hanging, limits=SLOW).call(GET).error == "timeout"


def test_a_transport_that_raises_costs_one_call() -> None:
    def broken(request: httpx2.Request) -> httpx2.Response:
        raise KeyError("s3cret-token")

    rest = RestClient(small_spec(), transport=broken, credentials={"token": "s3cret-token"})
    exchange = rest.call(GET)
    assert exchange.error == "protocol" and "s3cret" not in exchange.message


def test_secrets_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    over_a_socket(whole(message("200 OK", "Content-Type: application/json\r\n", b"{}")))
    assert "s3cret" not in caplog.text


def test_numbers_and_depth_of_hostile_json() -> None:
    assert parse_json('[1.5, -0.0, 1E400, "\\ud83d\\ude00"]') == [1.5, 0.0, None, "\U0001f600"]
    for text in ("", "nul", "[" * 300 + "]" * 300, "1" * 5000):
        with pytest.raises(ValueError):
            parse_json(text)
