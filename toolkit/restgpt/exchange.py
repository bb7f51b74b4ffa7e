"""What a call to a service is and what came of it, as plain data: the request as meant, the exchange as it happened.

These are what the planner's log, the trace and the scorers read. An Exchange never holds a secret: the client removes
them before it builds one. Knows nothing of sockets or specifications.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

ErrorKind = Literal[
    "unknown_endpoint",  # no such operation in the description; nothing was sent
    "foreign_server",  # a URL of another server; nothing was sent
    "invalid_call",  # the description refuses it; nothing was sent
    "connect",  # the server could not be reached
    "timeout",  # no complete answer within the deadline (slow senders included)
    "protocol",  # not HTTP, or a connection cut in the middle
    "redirect",  # a redirect that leaves the server, or too many of them; not followed
    "too_large",  # the answer passed the size limit
    "unauthorized",  # 401
    "forbidden",  # 403
    "not_found",  # 404
    "rate_limited",  # 429
    "client_error",  # any other 4xx
    "server_error",  # 5xx
    "unexpected_status",  # neither 2xx, 3xx, 4xx nor 5xx
    "not_json",  # a success whose body is not JSON although JSON was due
    "bad_encoding",  # a success whose body is not valid text
]


@dataclass(frozen=True)
class RestCall:
    """One request as a caller means it, before it is checked.

    `path` is a template (`/movie/{movie_id}`) or already filled (`/movie/603`), with or without the server;
    `path_params` fills what is still open. `query` values may be lists. `body` is JSON data, None for no body.
    """

    method: str
    path: str
    path_params: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """One call and its result. `error` is None exactly when a usable 2xx answer arrived.

    `endpoint` is `METHOD /path/{template}` (None: no such endpoint). `url`, `headers` and `sent` are the request as
    sent with secrets removed (url None: nothing was sent). `json` is the parsed body, None when there was none or it
    was not JSON; `text` is the body as text, cut to `HttpLimits.keep_text` characters. `seconds` is wall time over
    all `attempts`; None when nothing was sent.
    """

    method: str
    endpoint: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: Any = None
    status: int | None = None
    error: ErrorKind | None = None
    message: str = ""
    content_type: str | None = None
    json: Any = None
    text: str | None = None
    seconds: float | None = None
    attempts: int = 0

    @property
    def ok(self) -> bool:
        """True when a usable 2xx answer arrived (204 without a body included)."""
        return self.error is None

    @property
    def was_sent(self) -> bool:
        """True when a request left this process."""
        return self.attempts > 0

    def record(self) -> dict[str, Any]:
        """The exchange as JSON data, for traces."""
        return asdict(self)
