"""A tool that is an HTTP endpoint: one call is one `POST` of JSON, whatever the other side does.

Request: `{"api": NAME, "arguments": TEXT, "history": [{"role": ..., "text": ...}]}`. Answer: status 200 with JSON
`{"result": TEXT}` (a number or a boolean is taken as text too) or `text/plain`. 400 and 422 mean that the argument is
refused, any other status is an error; `{"error": TEXT}` may say why. A dead, slow, lying or hostile endpoint costs its
own call: every call has one deadline, a cap on the answer's size, and a bounded number of attempts. This file knows
nothing of prompts; what is safe to write into one is decided in `toolkit.tools.safety`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from toolkit.errors import UserError
from toolkit.tools.background import background
from toolkit.tools.network import AddressRefused, GuardedTransport
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import reason

REFUSED_STATUSES = frozenset({400, 422})
CONNECTION_ERRORS = (httpx2.NetworkError, httpx2.ConnectTimeout, httpx2.RemoteProtocolError)
MAX_REDIRECTS = 3


@dataclass(frozen=True)
class HttpSettings:
    """Bounds of one plugin's calls.

    `seconds` is the deadline of a call once it has its turn, retries included. Only 429, 5xx and connection errors are
    tried again, `attempts` times in all, after `backoff`, twice `backoff`, ... seconds (each times 0.5 to 1). At most
    `concurrency` calls run at a time. `private_hosts` names the hosts that may have private, loopback or link-local
    addresses. `secret_env` names the environment variable that is sent as `Authorization: Bearer`.
    """

    seconds: float = 10.0
    attempts: int = 3
    backoff: float = 0.2
    max_bytes: int = 65_536
    concurrency: int = 32
    private_hosts: frozenset[str] = frozenset()
    secret_env: str | None = None


class HttpClient:
    """The connections of one plugin. Calls may come from any number of threads."""

    def __init__(self, settings: HttpSettings | None = None) -> None:
        self.settings = settings or HttpSettings()
        self._loop = background()
        self._turn = asyncio.Semaphore(self.settings.concurrency)
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(self.settings.private_hosts, self.settings.concurrency),
            headers={"Accept": "application/json, text/plain", "Accept-Encoding": "identity"},
            timeout=self.settings.seconds,
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    def post(self, url: str, body: object, headers: dict[str, str]) -> Outcome:
        """Send `body` as JSON and read the result. Every failure is an Outcome."""
        return self._loop.run(self._in_turn(self._client.build_request("POST", url, json=body, headers=headers)))

    def close(self) -> None:
        """Close all connections."""
        self._loop.run(self._client.aclose())

    async def _in_turn(self, request: httpx2.Request) -> Outcome:
        async with self._turn:
            try:
                return await asyncio.wait_for(self._attempts(request), self.settings.seconds)
            except (TimeoutError, httpx2.TimeoutException):
                return Outcome("timeout", f"no answer within {self.settings.seconds:g} s")
            except AddressRefused as refusal:
                return Outcome("refused", reason(str(refusal)))
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                return Outcome("error", reason(f"{type(error).__name__}: {error}"))

    async def _attempts(self, request: httpx2.Request) -> Outcome:
        """Try until something other than an overload or a connection error comes of it."""
        for attempt in range(1, self.settings.attempts + 1):
            last = attempt == self.settings.attempts
            try:
                response = await self._send(request)
            except CONNECTION_ERRORS:
                if last:
                    raise
            else:
                overloaded = response.status_code == 429 or response.status_code >= 500
                try:
                    if last or not overloaded:
                        return await self._outcome(response)
                finally:
                    await response.aclose()
            await asyncio.sleep(self.settings.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send, following redirects within the host; the response is open and its body unread."""
        response = await self._client.send(request, stream=True)
        for _ in range(MAX_REDIRECTS):
            following = response.next_request
            if following is None or following.method != "POST":  # 301 to 303 would drop the call
                return response
            await response.aclose()
            if not may_follow(request.url, following.url):
                raise AddressRefused(f"redirected to another host or out of encryption: {following.url.host}")
            response = await self._client.send(following, stream=True)
        if response.next_request is not None:
            await response.aclose()
            raise httpx2.TooManyRedirects(f"more than {MAX_REDIRECTS} redirects", request=request)
        return response

    async def _outcome(self, response: httpx2.Response) -> Outcome:
        if response.headers.get("content-encoding", "identity") != "identity":
            return Outcome("error", "the answer is compressed, which was not asked for")
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > self.settings.max_bytes:
                return Outcome("error", f"the answer is longer than {self.settings.max_bytes} bytes")
        return read_answer(response.status_code, response.headers.get("content-type", ""), bytes(body))


def may_follow(origin: httpx2.URL, target: httpx2.URL) -> bool:
    """Whether a redirect stays on the host and does not give up encryption."""
    return origin.host == target.host and not (origin.scheme == "https" and target.scheme == "http")


def read_answer(status: int, content_type: str, body: bytes) -> Outcome:
    """The outcome that an answer stands for."""
    kind = content_type.partition(";")[0].strip().lower()
    fields = _fields(body) if kind == "application/json" else None
    if status != 200:
        why = fields.get("error") if fields else None
        text = f"HTTP {status}: {why}" if isinstance(why, str) else f"HTTP {status}"
        return Outcome("refused" if status in REFUSED_STATUSES else "error", reason(text))
    if kind == "text/plain":
        return Outcome("ok", body.decode("utf-8", "replace"))
    if kind != "application/json":
        return Outcome("error", reason(f"the answer is neither JSON nor plain text but {kind or 'of no type'}"))
    result = fields.get("result") if fields else None
    if not isinstance(result, str | int | float):
        return Outcome("error", "the answer is no JSON object with a result")
    return Outcome("ok", result if isinstance(result, str) else json.dumps(result))


def _fields(body: bytes) -> dict[str, object] | None:
    """The JSON object in a body, or None."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class Endpoint:
    """An API of a plugin, served at `url`. Build it with `endpoint`, which checks the URL."""

    name: str
    url: str
    client: HttpClient
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    inline: bool = False

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """Call the endpoint and wait for the outcome."""
        turns = [{"role": turn.role, "text": turn.text} for turn in history]
        return self.client.post(self.url, {"api": self.name, "arguments": arguments, "history": turns}, self.headers)


def endpoint(name: str, url: str, client: HttpClient) -> Endpoint:
    """The tool for API `name` at `url`; UserError when the URL or the client's secret cannot be used."""
    where = f"url of {name}"
    return Endpoint(name, url, client, secret_header(checked_url(url, where), client.settings, where))


def checked_url(url: str, where: str) -> httpx2.URL:
    """The URL of something to call; UserError when it is none."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise UserError(f"not a URL: {error}", where, "write it like https://example.com/api") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.userinfo or (parsed.port or 1) > 65_535:
        raise UserError(f"{url!r} cannot be called", where, "use http or https, a valid host and port, no password")
    return parsed


def secret_header(url: httpx2.URL, settings: HttpSettings, where: str) -> dict[str, str]:
    """The Authorization header for `url`, empty without `secret_env`; UserError when it cannot be sent there."""
    if settings.secret_env is None:
        return {}
    secret = os.environ.get(settings.secret_env, "").strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise UserError(f"no usable secret in the environment variable {settings.secret_env}", where, "set it")
    if url.scheme != "https" and url.host not in settings.private_hosts:
        raise UserError("a secret would be sent unencrypted", where, "use https")
    return {"Authorization": f"Bearer {secret}"}
