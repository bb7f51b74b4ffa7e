"""Finds the endpoint that a verb and a path mean, preferring literal segments over parameters.

Model-written paths come with full URLs, trailing slashes, quotes and full stops; those are tolerated here, once, so
that nothing else has to. The URL of a server that is not ours never matches. Knows nothing of OpenAPI beyond
`/path/{template}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

Target = TypeVar("Target")
_NAME = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|<[^<>]*>|:[A-Za-z_]\w*|\[[A-Za-z_]\w*\]")
_DECORATION = " \t\r\n`'\"*"
_LONGEST_PATH = 8192


@dataclass(frozen=True)
class Route(Generic[Target]):
    """A match: what was meant and the text that stands for each path parameter, percent-decoded."""

    target: Target
    values: Mapping[str, str]

    @property
    def unfilled(self) -> tuple[str, ...]:
        """Path parameters for which a placeholder stands (`{movie_id}`, `<id>`, `:id`) instead of a value."""
        return tuple(name for name, value in self.values.items() if is_placeholder(value))


def is_placeholder(value: str) -> bool:
    """Whether a path segment is a placeholder that someone forgot to fill, or nothing at all."""
    return not value.strip() or _PLACEHOLDER.fullmatch(value.strip()) is not None


def template_names(path: str) -> list[str]:
    """The parameter names in a path template, in order."""
    return _NAME.findall(path)


def split_path(path: str) -> list[str]:
    """Segments of a path; a trailing slash makes no difference."""
    return path.strip("/").split("/") if path.strip("/") else []


class _Pattern(Generic[Target]):
    """One compiled template. `rank` orders patterns: literal before mixed before pure parameter, left to right."""

    def __init__(self, path: str, target: Target) -> None:
        self.target = target
        self.names: list[str] = []
        self.rank: list[int] = []
        self.segments: list[str | re.Pattern[str]] = []
        for segment in split_path(path):
            names = template_names(segment)
            self.names += names
            self.rank.append(0 if not names else 2 if _NAME.fullmatch(segment) else 1)
            self.segments.append(_segment_pattern(segment) if names else unquote(segment))

    def values(self, segments: list[str]) -> dict[str, str] | None:
        """The parameter values if `segments` (decoded) match, else None."""
        found: list[str] = []
        for mine, given in zip(self.segments, segments, strict=True):
            if isinstance(mine, str):
                if mine != given:
                    return None
            else:
                hit = mine.fullmatch(given)
                if hit is None:
                    return None
                found += hit.groups()
        return dict(zip(self.names, found, strict=True))


def _segment_pattern(segment: str) -> re.Pattern[str]:
    """`{name}.json` -> a regex with one group per parameter."""
    parts = _NAME.split(segment)
    text = "".join("(.+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.compile(text, re.DOTALL)


class Router(Generic[Target]):
    """All templates of one service, indexed by verb and number of segments."""

    def __init__(self, entries: Iterable[tuple[str, str, Target]], bases: Iterable[str] = ()) -> None:
        self._table: dict[tuple[str, int], list[_Pattern[Target]]] = {}
        for method, path, target in entries:
            pattern = _Pattern(path, target)
            self._table.setdefault((method.upper(), len(pattern.segments)), []).append(pattern)
        for patterns in self._table.values():
            patterns.sort(key=lambda each: each.rank)
        self._bases = [_Base.parse(base) for base in dict.fromkeys(bases)]

    def route(self, method: str, url_or_path: str) -> Route[Target] | None:
        """See `Spec.route`."""
        if len(url_or_path) > _LONGEST_PATH:
            return None
        verb = method.strip(_DECORATION).upper()
        bare = url_or_path.strip(_DECORATION)
        for text in dict.fromkeys((bare.rstrip(_DECORATION + ".,;:!)"), bare)):
            for path in self._paths(text):
                hit = self._match(verb, path)
                if hit:
                    return hit
        return None

    def _paths(self, text: str) -> list[str]:
        """The paths that `text` may mean, relative to the server, most literal reading first."""
        try:
            parts = urlsplit(text)
        except ValueError:
            return []
        path = parts.path
        if parts.scheme or parts.netloc:
            origin = _origin(parts)
            return [path[len(base.path) :] for base in self._bases if base.origin == origin and base.covers(path)]
        if not path.startswith("/"):
            path = f"/{path}"
        return [path, *(path[len(base.path) :] for base in self._bases if base.path and base.covers(path))]

    def _match(self, method: str, path: str) -> Route[Target] | None:
        segments = [unquote(segment) for segment in split_path(path)]
        for pattern in self._table.get((method, len(segments)), []):
            values = pattern.values(segments)
            if values is not None:
                return Route(pattern.target, values)
        return None


@dataclass(frozen=True)
class _Base:
    """One server: its origin (None when the URL is relative) and its base path."""

    origin: tuple[str, str] | None
    path: str

    @classmethod
    def parse(cls, url: str) -> _Base:
        parts = urlsplit(url)
        return cls(_origin(parts) if parts.netloc else None, parts.path.rstrip("/"))

    def covers(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")


def _origin(parts: SplitResult) -> tuple[str, str]:
    """Scheme and host with port, in lower case and without the scheme's own port."""
    scheme, host = parts.scheme.lower(), parts.netloc.lower()
    return scheme, host.removesuffix({"http": ":80", "https": ":443"}.get(scheme, ""))
