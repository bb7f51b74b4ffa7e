"""The simulated film service: one function from a request to an answer, over a world that never changes. It checks the
key, the path and the parameters as the real service does, with its error bodies; what an endpoint answers is in
`handlers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from experiments.restbench.movies.handlers import HANDLERS
from experiments.restbench.movies.world import World
from experiments.restbench.service import Response, answer
from toolkit.restgpt.spec_router import Router

BASE = "https://api.themoviedb.org/3"
KEY = "restbench"
LAST_PAGE = 500
_MAX_TEXT = 2000

# (HTTP status, status_code, message): the service's documented errors, in our words
_BAD_KEY = (401, 7, "Invalid API key: a valid key is needed.")
_NOT_FOUND = (404, 34, "The resource you requested could not be found.")
_BAD_METHOD = (405, 4, "This service does not exist for that method.")
_BAD_PARAMETER = (422, 5, "Invalid parameters: your request parameters are incorrect")
_BAD_PAGE = (400, 22, f"Invalid page: pages are whole numbers from 1 to {LAST_PAGE}.")
_TOO_MANY = (429, 25, "Your request count is over the allowed limit.")

_SORT_MOVIES = "popularity release_date revenue primary_release_date original_title vote_average vote_count"
_SORT_SHOWS = "vote_average first_air_date popularity"


class BadParameter(ValueError):
    """A parameter that the service refuses; the text names it."""


class MoviesApp:
    """The service over one world. `throttle`: every so many requests one is answered 429 (None: never)."""

    name = "tmdb"
    base = BASE
    endpoints = tuple(f"GET {template}" for template in HANDLERS)

    def __init__(self, world: World, key: str = KEY, throttle: int | None = None) -> None:
        self._world, self._key, self._throttle = world, key, throttle
        self._requests = 0
        self._router = Router([("GET", template, template) for template in HANDLERS])

    @property
    def credentials(self) -> dict[str, str]:
        """The header that lets a request in."""
        return {"authorization": f"Bearer {self._key}"}

    def handle(
        self, method: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """Answer one request; see `service.App`. The key is `?api_key=` or a bearer token."""
        self._requests += 1
        if self._throttle and self._requests % self._throttle == 0:
            return _error(_TOO_MANY, headers={"retry-after": "1"})
        try:
            parts = urlsplit(url)
        except ValueError:
            return _error(_NOT_FOUND)
        asked = {**dict(parse_qsl(parts.query)), **query}
        if not self._knows(asked, headers):
            return _error(_BAD_KEY)
        path = parts.path.removeprefix("/3") if parts.path.startswith("/3/") else parts.path
        route = self._router.route("GET", path)
        if route is None or parts.netloc not in ("", urlsplit(BASE).netloc):
            return _error(_NOT_FOUND)
        if method.upper() != "GET":
            return _error(_BAD_METHOD)
        return self._answer(route.target, route.values, asked)

    def _knows(self, asked: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        given = {name.lower(): value for name, value in headers.items()}.get("authorization", "")
        return asked.get("api_key") == self._key or given == f"Bearer {self._key}"

    def _answer(self, template: str, values: Mapping[str, str], asked: Mapping[str, str]) -> Response:
        try:
            params = {**_query(template, asked), **_path(values)}
        except BadParameter as problem:
            return _error(_BAD_PAGE if str(problem) == "page" else _BAD_PARAMETER, str(problem))
        except LookupError:
            return _error(_NOT_FOUND)
        content = HANDLERS[template](self._world, params)
        return _error(_NOT_FOUND) if content is None else answer(content)


def _error(kind: tuple[int, int, str], detail: str = "", headers: Mapping[str, str] | None = None) -> Response:
    status, code, message = kind
    text = f"{message} ({detail})" if detail and status == 422 else message
    return answer({"status_code": code, "status_message": text, "success": False}, status, headers)


def _path(values: Mapping[str, str]) -> dict[str, Any]:
    """Typed path parameters. A value of the wrong form names nothing: LookupError."""
    typed: dict[str, Any] = {}
    for name, text in values.items():
        if name in _PATH_CHOICES:
            if text not in _PATH_CHOICES[name]:
                raise BadParameter(name)
            typed[name] = text
        elif name in ("review_id", "credit_id"):
            typed[name] = text
        else:
            typed[name] = _digits(text)
    return typed


def _digits(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise LookupError(text)
    return int(text)


def _query(template: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """Typed query parameters of an endpoint; those it does not know are ignored, as are empty ones."""
    typed: dict[str, Any] = {"page": 1}
    known = {**_COMMON, **_KNOWN.get(template, {})}
    for name, text in asked.items():
        if name in known and text != "":
            try:
                typed[name] = known[name](text[:_MAX_TEXT])
            except ValueError:
                raise BadParameter(name) from None
    if template.startswith("/search/") and not str(typed.get("query", "")).strip():
        raise BadParameter("query must be provided")
    return typed


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= LAST_PAGE):
        raise ValueError(text)
    return int(text)


def _whole(text: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 12):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if value != value or abs(value) > 1e12:
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    return {"true": True, "false": False, "1": True, "0": False}[_choice("true false 1 0")(text.lower())]


def _day(text: str) -> str:
    return date.fromisoformat(text[:10]).isoformat()


def _choice(words: str) -> Callable[[str], str]:
    allowed = words.split()

    def check(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return check


def _orders(fields: str) -> Callable[[str], str]:
    return _choice(" ".join(f"{field}.{way}" for field in fields.split() for way in ("asc", "desc")))


_PATH_CHOICES = {"media_type": ("all", "movie", "tv", "person"), "time_window": ("day", "week")}
_COMMON: dict[str, Callable[[str], Any]] = {"page": _page, "query": str, "include_adult": _flag, "region": str}
_DISCOVER: dict[str, Callable[[str], Any]] = {
    **{f"vote_average.{end}": _number for end in ("gte", "lte")},
    **{f"vote_count.{end}": _whole for end in ("gte", "lte")},
    **{f"with_runtime.{end}": _whole for end in ("gte", "lte")},
    **{f"with{no}_{what}": str for no in ("", "out") for what in ("genres", "keywords", "companies")},
    **dict.fromkeys(("with_original_language", "with_watch_providers", "watch_region"), str),
    "with_watch_monetization_types": _choice("flatrate free ads rent buy"),
}
_KNOWN: dict[str, dict[str, Callable[[str], Any]]] = {
    "/movie/{movie_id}": {"append_to_response": str, "include_image_language": str},
    "/movie/{movie_id}/images": {"include_image_language": str},
    "/search/movie": {"year": _whole, "primary_release_year": _whole},
    "/search/tv": {"first_air_date_year": _whole},
    "/discover/movie": {
        **_DISCOVER,
        **{f"{kind}release_date.{end}": _day for kind in ("", "primary_") for end in ("gte", "lte")},
        **dict.fromkeys(("certification", "certification.gte", "certification.lte", "certification_country"), str),
        **dict.fromkeys(("with_cast", "with_crew", "with_people"), str),
        **dict.fromkeys(("year", "primary_release_year", "with_release_type"), _whole),
        "include_video": _flag,
        "sort_by": _orders(_SORT_MOVIES),
    },
    "/discover/tv": {
        **_DISCOVER,
        **{f"{kind}air_date.{end}": _day for kind in ("", "first_") for end in ("gte", "lte")},
        **dict.fromkeys(("with_networks", "timezone", "with_status", "with_type"), str),
        "first_air_date_year": _whole,
        "include_null_first_air_dates": _flag,
        "screened_theatrically": _flag,
        "sort_by": _orders(_SORT_SHOWS),
    },
}
