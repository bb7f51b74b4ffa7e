"""The Caller of RestGPT (section 3.3): turns one planned call into a request, from that endpoint's documentation.

It writes method, path, query and body as JSON, and what is to be extracted from the answer for the Parser. Nothing
leaves here: the request is checked against the description first, and the reasons of a refusal go back to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolkit.restgpt.asking import Asker, Module, Unusable, text_field
from toolkit.restgpt.call_shape import call_shape
from toolkit.restgpt.call_text import find_endpoint
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.http import Refusal, RestClient
from toolkit.restgpt.render import render_call
from toolkit.restgpt.selector import PlannedCall
from toolkit.restgpt.spec import Spec

TOKENS = 600
DOCUMENT_SHARE = 0.2
BACKGROUND_SHARE = 0.2


@dataclass(frozen=True)
class FormedCall:
    """A request that the description accepts, and what the Parser shall extract from its answer."""

    call: RestCall
    output: str


class Caller:
    """One prompt, one request. `client` says what is wrong with a request before it is sent."""

    def __init__(self, asker: Asker, spec: Spec, client: RestClient) -> None:
        self._asker, self._spec, self._client = asker, spec, client
        self._module = Module.load("caller")

    def form(self, planned: PlannedCall, sub_task: str, background: str, failure: str = "") -> FormedCall:
        """The request for a planned call; `failure` is what the service said to an earlier attempt.

        Raises `NoAnswer` when the model writes none that the description accepts.
        """
        room = self._asker.room(DOCUMENT_SHARE)
        wanted = f"{sub_task} {planned.purpose}"
        document = render_call(self._spec, planned.endpoint, room, self._asker.model.count, wanted)
        lines = [
            f"Documentation:\n{document}",
            f"Background: {self._asker.shorten(background, self._asker.room(BACKGROUND_SHARE))}",
            f"Sub-task: {sub_task}",
            f"Call: {planned.text}",
        ]
        if failure:
            lines.append(f"The last attempt failed: {failure}")

        def read(data: dict[str, Any]) -> FormedCall:
            return self._read(planned, data)

        shape = call_shape(self._spec, planned.endpoint)
        return self._asker.ask(self._module, "\n".join(lines), read, shape, tokens=TOKENS)

    def _read(self, planned: PlannedCall, data: dict[str, Any]) -> FormedCall:
        """The checked request in an answer."""
        call = read_call(data)
        route, _ = find_endpoint(self._spec, f"{call.method} {call.path}")
        if route.target is not planned.endpoint:
            raise Unusable(f"the call must be to {planned.endpoint.key}, not to {route.target.key}")
        checked = self._client.check(call)
        if isinstance(checked, Refusal):
            raise Unusable(checked.message)
        output = data.get("output")
        return FormedCall(call, output.strip() if isinstance(output, str) and output.strip() else planned.purpose)


def read_call(data: dict[str, Any]) -> RestCall:
    """A request written as JSON with the fields method, path, query, headers and body. Raises `Unusable`."""
    parts: dict[str, dict[str, Any]] = {}
    for name in ("query", "headers"):
        value = data.get(name) or {}
        if not isinstance(value, dict):
            raise Unusable(f'the field "{name}" must be an object')
        parts[name] = {key: item for key, item in value.items() if item is not None}
    # An empty body is how models write "no body".
    body = data.get("body")
    return RestCall(
        method=text_field(data, "method"),
        path=text_field(data, "path"),
        query=parts["query"],
        headers=parts["headers"],
        body=None if body in ("", {}) else body,
    )
