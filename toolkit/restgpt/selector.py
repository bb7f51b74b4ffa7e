"""The API selector of RestGPT (section 3.2): turns a sub-task into an API plan, one or more known calls.

It reads the endpoint list only (verb, path, a line of description). A local model cannot write an unknown endpoint,
since its answer is constrained to the list; any answer is checked: unknown endpoints, unfilled path parameters and
ids that nobody mentioned are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.restgpt.asking import Asker, Module, Unusable, prose, strict, text_field
from toolkit.restgpt.call_text import calls_pattern, find_endpoint
from toolkit.restgpt.evidence import Evidence
from toolkit.restgpt.planner import Done
from toolkit.restgpt.spec import Endpoint, Spec

MOST_CALLS = 4
TOKENS = 400
BACKGROUND_SHARE = 0.2
TRIED_SHARE = 0.15


@dataclass(frozen=True)
class PlannedCall:
    """One call of an API plan: the endpoint, its path with parameters filled, and what it is for."""

    endpoint: Endpoint
    path: str
    purpose: str

    @property
    def text(self) -> str:
        """How the call is written in plans and prompts."""
        return f"{self.endpoint.method} {self.path} {self.purpose}".rstrip()


@dataclass(frozen=True)
class ApiPlan:
    """The calls for a sub-task; none when no endpoint is needed or fits, and `note` says why."""

    calls: tuple[PlannedCall, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """The plan on one line."""
        return "; ".join(call.text for call in self.calls) or f"no call: {self.note}"


class Selector:
    """One prompt, one API plan. `endpoints` is the list that the model reads."""

    def __init__(self, asker: Asker, spec: Spec, endpoints: str) -> None:
        self._asker = asker
        self._spec = spec
        self._known = f"Endpoints:\n{endpoints}"
        self._module = Module.load("selector")
        self._pattern = f"^{calls_pattern(spec, spec.endpoints)}$"

    def select(
        self, sub_task: str, background: str, evidence: Evidence, tried: Sequence[Done] = (), instruction: str = ""
    ) -> ApiPlan:
        """The API plan for a sub-task; `tried` and `instruction` are the earlier attempts at it and how to go on.

        Raises `NoAnswer` when the model gives nothing usable.
        """
        call = {
            "properties": {"call": {"type": "string", "pattern": self._pattern}, "purpose": prose(160)},
            "required": ["call", "purpose"],
        }
        listed = {"type": "array", "maxItems": MOST_CALLS, "items": strict(call)}
        schema = {"properties": {"calls": listed, "note": prose(300)}, "required": ["calls", "note"]}
        lines = [f"Background: {self._asker.shorten(background, self._asker.room(BACKGROUND_SHARE))}"]
        lines.append(f"Sub-task: {sub_task}")
        each = self._asker.room(TRIED_SHARE) // max(1, len(tried))
        for done in tried:
            lines += [f"Calls tried: {done.calls}", f"Result: {self._asker.shorten(done.result, each)}"]
        if instruction:
            lines.append(f"Instruction: {instruction}")

        def read(data: dict[str, Any]) -> ApiPlan:
            items = data.get("calls")
            if not isinstance(items, list) or len(items) > MOST_CALLS:
                raise Unusable(f'the field "calls" must be a list of at most {MOST_CALLS}')
            if not items:
                return ApiPlan((), text_field(data, "note"))
            if not all(isinstance(item, dict) for item in items):
                raise Unusable("each call must be an object with the fields call and purpose")
            calls = (
                checked_call(self._spec, text_field(item, "call"), item.get("purpose"), evidence) for item in items
            )
            return ApiPlan(tuple(calls))

        return self._asker.ask(self._module, "\n".join(lines), read, schema, self._known, TOKENS)


def checked_call(spec: Spec, written: str, purpose: Any, evidence: Evidence) -> PlannedCall:
    """A call as a model wrote it. Raises `Unusable`: unknown endpoint, unfilled or invented path parameter."""
    route, path = find_endpoint(spec, written)
    if route.unfilled:
        raise Unusable(
            f"the path parameter {route.unfilled[0]} of {route.target.key} is not filled: write its value, "
            "or first choose a call that finds it"
        )
    for name, value in route.values.items():
        if evidence.invented(value):
            raise Unusable(
                f"{name} = {value} appears neither in the request nor in a result; first choose a call that finds it"
            )
    return PlannedCall(route.target, path, purpose.strip() if isinstance(purpose, str) else "")
