"""Calls a described service: every call checked first, sent to its own servers only, and answered as an `Exchange`.

Nothing a model, a server or the network does raises here; every outcome is an Exchange with an error kind. Secrets are
added to a request at the last moment and removed from everything that is kept. Retries: GET only, after 429 and 5xx.
Knows nothing of prompts or models.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import httpx2

from toolkit.errors import UserError
from toolkit.restgpt.credentials import HIDDEN, Credentials, credentials_from_environment, variable_name
from toolkit.restgpt.exchange import ErrorKind, Exchange, RestCall
from toolkit.restgpt.http_answer import Answer, BadCoding, TooLarge, read_answer, read_content
from toolkit.restgpt.http_request import Prepared, Refusal, prepare
from toolkit.restgpt.http_transport import AsgiTransport, Handler, Watchdog, socket_transport
from toolkit.restgpt.spec_types import Spec

__all__ = ["HttpLimits", "Prepared", "Refusal", "RestClient", "credentials_from_environment"]

_REDIRECTS = {301, 302, 303, 307, 308}
_RETRIED = {429, 500, 502, 503, 504}


@dataclass(frozen=True)
class HttpLimits:
    """Bounds of one call. `seconds` is the deadline for all of it, retries and waits included.

    `max_bytes` is the largest answer taken (decompressed); `keep_text` how many characters of it a record keeps.
    A `Retry-After` longer than `longest_wait` seconds ends the retries. `backoff` doubles with every retry.
    """

    seconds: float = 30.0
    connect_seconds: float = 10.0
    max_bytes: int = 16 * 2**20
    keep_text: int = 20_000
    retries: int = 2
    backoff: float = 0.5
    longest_wait: float = 10.0
    redirects: int = 3


@dataclass(frozen=True)
class _Sent:
    """One attempt: what arrived, or what went wrong before anything usable did."""

    answer: Answer | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: ErrorKind | None = None
    message: str = ""


class RestClient:
    """A checked, bounded client for one described service. Usable as a context manager.

    `server` (the user's word) replaces the description's servers. `credentials` maps scheme names to secrets.
    `transport` is None for sockets, an httpx transport, a function from request to response, or an ASGI application.
    """

    def __init__(
        self,
        spec: Spec,
        server: str | None = None,
        credentials: Mapping[str, str] | None = None,
        transport: httpx2.BaseTransport | Handler | Any = None,
        limits: HttpLimits | None = None,
    ) -> None:
        self.spec = spec
        self.limits = limits or HttpLimits()
        self._chosen_server = _base_url(server) if server else None
        if not self._chosen_server and not spec.servers:
            raise UserError("the description names no server", spec.title or None, "give one with --server URL")
        unknown = sorted(set(credentials or {}) - set(spec.schemes))
        if unknown:
            raise UserError(
                f"no security scheme {unknown[0]!r} (known: {', '.join(spec.schemes) or 'none'})", spec.title
            )
        self._credentials = Credentials(spec.schemes, credentials or {})
        self._transport = _transport(transport)

    def __enter__(self) -> RestClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the transport's resources back."""
        self._transport.close()

    def check(self, call: RestCall) -> Prepared | Refusal:
        """Check a call and write its request, without sending it and without secrets."""
        server = self._chosen_server
        if server is None:
            endpoint = self.spec.match(call.method, call.path)
            servers = endpoint.servers if endpoint and endpoint.servers else self.spec.servers
            server = _base_url(servers[0].url())
        return prepare(call, self.spec, server)

    def call(self, call: RestCall, seconds: float | None = None) -> Exchange:
        """Check and send a call, in at most `seconds` if that is less than the client's own limit.

        A refusal is an Exchange that `was_sent` is False for.
        """
        prepared = self.check(call)
        if isinstance(prepared, Refusal):
            message = self._credentials.hide(prepared.message)
            return Exchange(call.method.upper(), prepared.endpoint, error=prepared.kind, message=message)
        allowed = self.limits.seconds if seconds is None else min(seconds, self.limits.seconds)
        started = time.monotonic()
        sent, attempts = self._send_with_retries(prepared, started + allowed)
        if sent.error == "timeout":
            sent = replace(sent, message=f"no complete answer within {allowed:.3g} s")
        return self._exchange(prepared, sent, attempts, time.monotonic() - started)

    def _send_with_retries(self, prepared: Prepared, deadline: float) -> tuple[_Sent, int]:
        attempt = 0
        while True:
            sent = self._send(prepared, deadline)
            attempt += 1
            again = prepared.method == "GET" and sent.answer is not None and sent.answer.status in _RETRIED
            if not again or attempt > self.limits.retries:
                return sent, attempt
            wait = retry_after(sent.headers.get("retry-after", ""), time.time())
            wait = self.limits.backoff * 2 ** (attempt - 1) if wait is None else wait
            if wait > self.limits.longest_wait or time.monotonic() + wait >= deadline:
                return sent, attempt
            time.sleep(wait)

    def _send(self, prepared: Prepared, deadline: float) -> _Sent:
        """One attempt, following redirects within the server for GET and HEAD."""
        url = prepared.url
        for _ in range(self.limits.redirects + 1):
            sent = self._send_once(prepared, url, deadline)
            if sent.answer is None or sent.answer.status not in _REDIRECTS:
                return sent
            target = _redirect_target(url, sent.headers.get("location", ""))
            if prepared.method not in ("GET", "HEAD") or target is None:
                return _Sent(None, sent.headers, "redirect", "a redirect away from the server was not followed")
            url = target
        return _Sent(None, {}, "redirect", f"more than {self.limits.redirects} redirects")

    def _send_once(self, prepared: Prepared, url: str, deadline: float) -> _Sent:
        watchdog = Watchdog(deadline)
        left = max(0.01, deadline - time.monotonic())
        try:
            request = self._request(prepared, url, left, watchdog)
            with watchdog.watching():
                response = self._transport.handle_request(request)
                try:
                    sent = self._receive(response, prepared, deadline)
                finally:
                    response.close()
            if watchdog.fired:  # the end of the body may be the watchdog's doing
                raise TimeoutError
            return sent
        except TooLarge:
            return _Sent(error="too_large", message=f"the answer is larger than {self.limits.max_bytes:,} bytes")
        except BadCoding as error:
            return _Sent(error="bad_encoding", message=str(error))
        except Exception as error:  # whatever a transport raises costs this call only
            kind = _failure(error, watchdog.fired or time.monotonic() >= deadline)
            return _Sent(error=kind, message=str(error) or type(error).__name__)

    def _receive(self, response: httpx2.Response, prepared: Prepared, deadline: float) -> _Sent:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if not isinstance(response.stream, httpx2.SyncByteStream):
            raise TypeError("the transport answered with an asynchronous stream")
        chunks = _until(deadline, iter(response.stream))
        content = read_content(chunks, headers.get("content-encoding", ""), self.limits.max_bytes)
        success = prepared.endpoint.success
        documented = success.media_type if success else None
        return _Sent(read_answer(response.status_code, headers.get("content-type"), content, documented), headers)

    def _request(self, prepared: Prepared, url: str, left: float, watchdog: Watchdog) -> httpx2.Request:
        """The request as it goes out, secrets included."""
        headers, query = self._credentials.placed(self._credentials.chosen(prepared.endpoint) or ())
        if query:
            url += ("&" if "?" in url else "?") + urlencode(query)
        timeout = {"connect": min(left, self.limits.connect_seconds), "read": left, "write": left, "pool": left}
        fixed = {"Accept-Encoding": "identity", "Connection": "close", "User-Agent": "heldout-toolkit"}
        return httpx2.Request(
            prepared.method,
            url,
            headers={**fixed, **prepared.headers, **headers},
            content=prepared.content,
            extensions={"timeout": timeout, "trace": watchdog.trace},
        )

    def _exchange(self, prepared: Prepared, sent: _Sent, attempts: int, seconds: float) -> Exchange:
        hide = self._credentials.hide
        secret, _ = self._credentials.placed(self._credentials.chosen(prepared.endpoint) or ())
        exchange = Exchange(
            method=prepared.method,
            endpoint=prepared.endpoint.key,
            url=hide(prepared.url),
            headers={name: hide(value) for name, value in prepared.headers.items()} | dict.fromkeys(secret, HIDDEN),
            sent=prepared.body,
            error=sent.error,
            message=hide(sent.message),
            seconds=round(seconds, 6),
            attempts=attempts,
        )
        answer = sent.answer
        if answer is None:
            return exchange
        message = hide(answer.message)
        if answer.status == 401 and self._credentials.chosen(prepared.endpoint) is None:
            names = ", ".join(variable_name(name) for name in dict.fromkeys(sum(prepared.endpoint.security, ())))
            message += f"; no credential is configured (set {names})"
        return replace(
            exchange,
            status=answer.status,
            error=answer.error,
            message=message,
            content_type=None if answer.content_type is None else hide(answer.content_type),
            json=self._credentials.hide_data(answer.json),
            text=None if answer.text is None else hide(answer.text)[: self.limits.keep_text],
        )


def retry_after(value: str, now: float) -> float | None:
    """Seconds to wait that a `Retry-After` header asks for (a number or a date); None when it asks for nothing."""
    if value.strip().isascii() and value.strip().isdigit():
        return float(value.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _redirect_target(url: str, location: str) -> str | None:
    """Where a redirect leads, None when that is not the very server (scheme, host, port) of `url`."""
    try:
        target = urljoin(url, location)
        there, here = urlsplit(target), urlsplit(url)
    except ValueError:
        return None
    return target if (there.scheme, there.netloc.lower()) == (here.scheme, here.netloc.lower()) else None


def _until(deadline: float, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pass chunks on until the deadline; covers senders that no socket watchdog can cut."""
    for chunk in chunks:
        if time.monotonic() >= deadline:
            raise TimeoutError
        yield chunk


def _failure(error: Exception, late: bool) -> ErrorKind:
    if late or isinstance(error, (httpx2.TimeoutException, TimeoutError)):
        return "timeout"
    if isinstance(error, (httpx2.ConnectError, httpx2.UnsupportedProtocol)):
        return "connect"
    return "protocol"


def _transport(given: Any) -> httpx2.BaseTransport:
    if given is None:
        return socket_transport()
    if isinstance(given, httpx2.BaseTransport):
        return given
    takes_a_request = len(inspect.signature(given).parameters) == 1  # an ASGI application takes three things
    return httpx2.MockTransport(given) if takes_a_request else AsgiTransport(given)


def _base_url(url: str) -> str:
    """A server URL that can be called, without its trailing slash. UserError otherwise."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "{" in url:
        raise UserError(f"the server {url!r} is not a complete http(s) URL", fix="give one with --server URL")
    if parts.username is not None or parts.query or parts.fragment:
        raise UserError("a server URL may hold no user name, query or fragment", fix="put secrets in the environment")
    return url.rstrip("/")
