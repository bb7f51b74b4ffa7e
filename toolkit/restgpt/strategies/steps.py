"""A list of calls planned ahead, as the offline strategies write it: endpoints whose path parameters may still be open.

The Caller fills them from earlier results. Knows nothing of when such a list is made or revised.
"""

from __future__ import annotations

from typing import Any

from toolkit.restgpt.asking import Unusable, prose, text_field
from toolkit.restgpt.call_text import find_endpoint
from toolkit.restgpt.selector import PlannedCall
from toolkit.restgpt.spec import Spec

MOST_STEPS = 10
STEPS_TOKENS = 700


def steps_schema(spec: Spec) -> dict[str, Any]:
    """The JSON schema of a list of steps: endpoints as listed, parameters open."""
    step = {
        "type": "object",
        "properties": {"call": {"enum": [each.key for each in spec.endpoints]}, "purpose": prose(160)},
        "required": ["call", "purpose"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": step, "maxItems": MOST_STEPS}


def read_steps(spec: Spec, items: Any) -> tuple[PlannedCall, ...]:
    """The steps of an answer. Raises `Unusable` for unknown endpoints."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unusable("the steps must be a list of objects with the fields call and purpose")
    if len(items) > MOST_STEPS:
        raise Unusable(f"there may be at most {MOST_STEPS} steps")
    return tuple(_step(spec, item) for item in items)


def _step(spec: Spec, item: dict[str, Any]) -> PlannedCall:
    route, path = find_endpoint(spec, text_field(item, "call"))
    return PlannedCall(route.target, path, text_field(item, "purpose"))
