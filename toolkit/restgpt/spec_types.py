"""What an OpenAPI description is to the rest of this package: endpoints, parameters, bodies, responses, security.

Everything here is plain data read once by `spec.load_spec`. Schemas stay as they were written, `$ref` included, and
are resolved one step at a time by `Spec.resolve`, so that a recursive or 24k-token schema costs nothing until someone
renders it. This file knows nothing of files, HTTP, prompts or models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from toolkit.restgpt.spec_refs import References
from toolkit.restgpt.spec_router import Route, Router

Place = Literal["path", "query", "header", "cookie"]
SchemeKind = Literal["bearer", "basic", "apikey"]
Schema = Mapping[str, Any]

JSON_MEDIA = "application/json"
_VARIABLE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Parameter:
    """One path, query, header or cookie parameter. `schema` is unresolved and may hold `$ref`.

    `style` and `explode` say how lists are written (`form` with explode: `a=1&a=2`, without: `a=1,2`).
    """

    name: str
    place: Place
    required: bool
    schema: Schema
    description: str = ""
    style: str = "form"
    explode: bool = True


@dataclass(frozen=True)
class Body:
    """A request body: the one media type we send (JSON when offered) and its schema, unresolved."""

    media_type: str
    schema: Schema
    required: bool = False
    description: str = ""

    @property
    def is_json(self) -> bool:
        """Whether the body is sent as JSON."""
        return is_json_media(self.media_type)


@dataclass(frozen=True)
class Response:
    """One documented answer. `status` is "200", "2XX" or "default"; `schema` is None when no body is described."""

    status: str
    description: str = ""
    media_type: str | None = None
    schema: Schema | None = None

    @property
    def is_success(self) -> bool:
        """True for any 2xx status, exact or as a range. "default" is not one."""
        return self.status.startswith("2")


@dataclass(frozen=True)
class SecurityScheme:
    """How a secret is sent. `field` is the header, query or cookie name (for bearer and basic: `Authorization`)."""

    name: str
    kind: SchemeKind
    place: Literal["header", "query", "cookie"] = "header"
    field: str = "Authorization"


@dataclass(frozen=True)
class Server:
    """A base URL, possibly with `{variables}`. `defaults` maps each to its default; `choices` to its allowed values."""

    template: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def url(self, values: Mapping[str, str] | None = None) -> str:
        """The URL with its variables filled, without a trailing slash. A value outside its choices is a ValueError."""
        filled = {**self.defaults, **(values or {})}
        for name, value in filled.items():
            allowed = self.choices.get(name)
            if allowed and value not in allowed:
                raise ValueError(f"server variable {name} may not be {value!r} (allowed: {', '.join(allowed)})")
        return _VARIABLE.sub(lambda hit: filled.get(hit[1], hit[0]), self.template).rstrip("/")


@dataclass(frozen=True)
class Endpoint:
    """One operation: a verb (upper case) on a path template.

    `security` lists alternatives, each a tuple of scheme names needed together; empty means none needed, and an empty
    alternative means that credentials are optional. `servers` overrides those of the description when not empty.
    """

    method: str
    path: str
    summary: str = ""
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    responses: tuple[Response, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()
    operation_id: str = ""
    servers: tuple[Server, ...] = ()

    @property
    def key(self) -> str:
        """`METHOD /path/{template}`: how an endpoint is named in prompts, plans and gold paths."""
        return f"{self.method} {self.path}"

    @property
    def is_write(self) -> bool:
        """Whether the call may change state at the service (any verb but GET, HEAD, OPTIONS and TRACE)."""
        return self.method not in {"GET", "HEAD", "OPTIONS", "TRACE"}

    @property
    def success(self) -> Response | None:
        """The documented success: the first 2xx with a schema, else the first 2xx, else "default", else None."""
        good = [response for response in self.responses if response.is_success]
        for response in good:
            if response.schema is not None:
                return response
        good += [response for response in self.responses if response.status == "default"]
        return good[0] if good else None

    def of_place(self, place: Place) -> tuple[Parameter, ...]:
        """The parameters that go to `place`."""
        return tuple(parameter for parameter in self.parameters if parameter.place == place)


@dataclass(frozen=True, eq=False)
class Spec:
    """A loaded description. `repairs` says, one line each, what was wrong in it and how it was read instead.

    `servers` may be empty (a file without absolute servers): then the client must be told the server.
    """

    title: str
    version: str
    description: str
    endpoints: tuple[Endpoint, ...]
    servers: tuple[Server, ...]
    schemes: Mapping[str, SecurityScheme]
    repairs: list[str]
    document: Mapping[str, Any] = field(repr=False)

    @cached_property
    def _references(self) -> References:
        return References(self.document)

    @cached_property
    def _router(self) -> Router[Endpoint]:
        bases = [server.url() for server in self.servers]
        bases += [server.url() for endpoint in self.endpoints for server in endpoint.servers]
        return Router([(each.method, each.path, each) for each in self.endpoints], bases)

    def resolve(self, node: Any) -> Any:
        """Follow `$ref` until something else stands there; siblings of the `$ref` win over its target.

        A dangling, remote or purely circular reference resolves to {} ("anything"); `repairs` has named it.
        """
        return self._references.resolve(node)

    def match(self, method: str, url_or_path: str) -> Endpoint | None:
        """The endpoint that a call or template means, or None. See `route` for what is tolerated."""
        route = self.route(method, url_or_path)
        return route.target if route else None

    def route(self, method: str, url_or_path: str) -> Route[Endpoint] | None:
        """Match a verb and a path, and say what stands for each path parameter (`Route.values`, `Route.unfilled`).

        Literal segments are preferred. Tolerated: lower-case verb, trailing slash, query string, surrounding quotes,
        trailing punctuation, the server's base path or full URL. The URL of another server never matches.
        """
        return self._router.route(method, url_or_path)


def is_json_media(media_type: str) -> bool:
    """True for application/json and its +json relatives, with or without parameters."""
    kind = media_type.split(";")[0].strip().lower()
    return kind == JSON_MEDIA or kind.endswith("+json")
