"""One request as a handler sees it, the checks of its values, and how a handler says no. Values come from a model and
may be anything; whatever is wrong with them raises `Refused` with the status that the service gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.restbench.music.world import ALPHABET, State

_LETTERS = frozenset(ALPHABET)
_LONGEST = 14  # digits of a number; milliseconds have 13


class Refused(Exception):
    """The service's error answer: an HTTP status, a message and, for the player, a reason."""

    def __init__(self, status: int, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.reason = status, message, reason


@dataclass(frozen=True)
class Result:
    """A handler's answer: `content` None means no body; `state` None means that nothing was changed."""

    content: Any = None
    status: int = 200
    state: State | None = None


@dataclass(frozen=True)
class Request:
    """Path values, query values and the JSON body ({} when there is none)."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def fields(self) -> Mapping[str, Any]:
        """The body's members; Refused when the body is no object."""
        if not isinstance(self.body, dict):
            raise Refused(400, "Error parsing JSON: an object is expected.")
        return self.body

    def id(self, name: str = "id") -> str:
        """An id in the path; 400 when it has not the form of one."""
        return base62_id(self.path[name])

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number in the query."""
        return whole(self.query.get(name, default), name, low, high)

    def window(self, highest: int = 100_000, longest: int = 50) -> dict[str, int]:
        """`limit` and `offset` of a page."""
        return {"limit": self.whole("limit", 20, 1, longest), "offset": self.whole("offset", 0, 0, highest)}

    def ids(self, most: int = 50) -> list[str]:
        """The `ids` of the query, else of the body (a list, or an object with one); at least one is needed."""
        given: Any = self.query.get("ids")
        if given is None:
            given = self.body if isinstance(self.body, list) else self.fields.get("ids")
        found = [base62_id(key) for key in texts(given, "ids")]
        if len(found) > most:
            raise Refused(400, f"Too many ids: at most {most} in one request.")
        return list(dict.fromkeys(found))


def whole(value: Any, name: str, low: int, high: int) -> int:
    """A whole number, as such or in digits, in a range."""
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _LONGEST):
        raise Refused(400, f"Invalid {name}")
    if not low <= int(text) <= high:
        raise Refused(400, f"Invalid {name}: it must be from {low} to {high}")
    return int(text)


def texts(value: Any, name: str) -> list[str]:
    """A list of texts: a JSON list or one text with commas; Refused when it is neither or has none."""
    parts: Sequence[Any] = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    found = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    if not found or len(found) != len(parts):
        raise Refused(400, f"Missing or invalid field: {name}")
    return found


def base62_id(text: str) -> str:
    """The text if it has the form of an id."""
    if len(text) != 22 or not _LETTERS.issuperset(text):
        raise Refused(400, "invalid id")
    return text


def uri_id(text: Any, kinds: Sequence[str]) -> tuple[str, str]:
    """The kind and id of a URI such as `spotify:track:...`; 400 for another form or kind."""
    parts = text.split(":") if isinstance(text, str) else []
    if len(parts) != 3 or parts[0] != "spotify" or parts[1] not in kinds:
        raise Refused(400, f"Invalid uri: {str(text)[:80]}")
    return parts[1], base62_id(parts[2])


def flag(value: Any, name: str) -> bool:
    """A JSON truth value, or the word for one."""
    known = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in known:
        raise Refused(400, f"Invalid {name}: true or false is expected.")
    return known[value]


def known_id(key: str, table: Mapping[str, Any]) -> str:
    """The id if the table has it; 404 otherwise."""
    if key not in table:
        raise Refused(404, "Non existing id")
    return key
