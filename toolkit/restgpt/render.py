"""What prompts say about a service, each within a token budget: its endpoints, how to call one, what comes back.

`render_endpoints` is for the API selector, `render_call` for the caller, `render_schema` for the parser; `prune_json`
(re-exported) does the same to an actual response. What does not fit is left out by relevance to the question, never
cut in the middle, and the text says so. Knows nothing of the prompts around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.restgpt.prune import Count, dump, largest_fit, prune_json
from toolkit.restgpt.relevance import Relevance
from toolkit.restgpt.shape import Shaper
from toolkit.restgpt.spec_types import Endpoint, Parameter, Place, Spec
from toolkit.restgpt.text import first_sentence, plain

__all__ = ["Count", "prune_json", "render_call", "render_endpoints", "render_lines", "render_schema"]

_PLACES: tuple[tuple[Place, str], ...] = (("path", "Path"), ("query", "Query"), ("header", "Header"))


def endpoint_line(endpoint: Endpoint) -> str:
    """`GET /path/{id}: What it does`, as in the reference's selector prompt."""
    sentence = first_sentence(endpoint.description or endpoint.summary)
    return f"{endpoint.key}: {sentence}" if sentence else endpoint.key


def render_endpoints(
    spec: Spec, budget: int, count: Count, question: str = "", endpoints: Sequence[Endpoint] | None = None
) -> str:
    """One line per endpoint, in the description's order.

    When they do not fit in `budget` tokens, first the sentences of the least relevant endpoints go, then those
    endpoints themselves; a last line says how many.
    """
    chosen = list(spec.endpoints if endpoints is None else endpoints)
    full, bare = [endpoint_line(endpoint) for endpoint in chosen], [endpoint.key for endpoint in chosen]
    return render_lines(full, bare, budget, count, question)


def render_lines(full: Sequence[str], bare: Sequence[str], budget: int, count: Count, question: str) -> str:
    """One line per endpoint within `budget` tokens: in full, in the `bare` form, or not at all, by relevance."""
    everything = len(full)
    relevance = Relevance(question, full)
    order = sorted(range(everything), key=lambda index: -relevance.score(full[index]))

    def text(with_sentence: int, shown: int) -> str:
        told, named = set(order[:with_sentence]), set(order[:shown])
        lines = [full[index] if index in told else bare[index] for index in range(everything) if index in named]
        left = everything - len(lines)
        return "\n".join([*lines, f"({left} more endpoints not shown)"] if left else lines)

    shown = largest_fit(everything, lambda number: count(text(0, number)) <= budget)
    told = largest_fit(shown, lambda number: count(text(number, shown)) <= budget)
    return text(told, shown)


def render_call(spec: Spec, endpoint: Endpoint, budget: int, count: Count, question: str = "") -> str:
    """How to call `endpoint`: its parameters by place with types, choices and defaults, and the shape of its body.

    When that does not fit, descriptions shrink to sentences, then vanish; then optional parameters are left out, the
    least relevant first. Required ones always stay, even past the budget.
    """
    optional = [parameter for parameter in endpoint.parameters if not parameter.required]
    relevance = Relevance(question, (f"{each.name} {each.description}" for each in optional))
    optional.sort(key=lambda each: -relevance.score(f"{each.name} {each.description}"))

    def text(detail: int, kept: int) -> str:
        dropped = {(each.name, each.place) for each in optional[kept:]}
        return _call_text(spec, endpoint, detail, dropped, budget // 2, count, question)

    for detail in (2, 1, 0):
        whole = text(detail, len(optional))
        if count(whole) <= budget:
            return whole
    return text(0, largest_fit(len(optional), lambda number: count(text(0, number)) <= budget))


def render_schema(spec: Spec, endpoint: Endpoint, budget: int, count: Count, question: str = "") -> str | None:
    """The shape of the endpoint's success response as JSON text; None when the description has no schema for it.

    With the fields' descriptions if they fit, without them if not, and else pruned to what `question` is about.
    """
    success = endpoint.success
    if success is None or success.schema is None:
        return None
    described = dump(Shaper(spec.resolve, describe=True).shape(success.schema))
    if count(described) <= budget:
        return described
    return prune_json(Shaper(spec.resolve, describe=False).shape(success.schema), question, budget, count)


def _call_text(
    spec: Spec,
    endpoint: Endpoint,
    detail: int,
    dropped: set[tuple[str, Place]],
    body_budget: int,
    count: Count,
    question: str,
) -> str:
    """`detail` 2: whole descriptions, 1: first sentences, 0: none."""
    about = endpoint.description or endpoint.summary
    lines = [endpoint.key, plain(about, 600) if detail == 2 else first_sentence(about)]
    for place, title in _PLACES:
        parameters = [each for each in endpoint.of_place(place) if (each.name, place) not in dropped]
        if parameters:
            lines.append(f"{title} parameters:")
            lines += [_parameter_line(spec, parameter, detail) for parameter in parameters]
    if dropped:
        lines.append(f"({len(dropped)} optional parameters not shown)")
    if endpoint.body is not None:
        need = "required" if endpoint.body.required else "optional"
        lines.append(f"Request body ({endpoint.body.media_type}, {need}):")
        shape = Shaper(spec.resolve, describe=detail > 0).shape(endpoint.body.schema)
        lines.append(prune_json(shape, question, body_budget, count))
        names = _required_fields(spec, endpoint.body.schema)
        if names:
            lines.append(f"Required in the body: {', '.join(names)}")
    return "\n".join(line for line in lines if line)


def _parameter_line(spec: Spec, parameter: Parameter, detail: int) -> str:
    shaper = Shaper(spec.resolve, describe=False)
    schema = shaper.flat(parameter.schema)
    facts = [_type_text(shaper.shape(parameter.schema))]
    if parameter.required:
        facts.append("required")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        facts.append(f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}")
    if schema.get("default") not in (None, ""):
        facts.append(f"default {schema['default']}")
    about = plain(parameter.description, 300) if detail == 2 else first_sentence(parameter.description)
    return f"- {parameter.name} ({', '.join(facts)})" + (f": {about}" if about and detail else "")


def _type_text(shape: Any) -> str:
    """A shape in words: `integer`, `one of a, b`, `list of string`."""
    if isinstance(shape, list):
        return f"list of {_type_text(shape[0])}"
    return shape if isinstance(shape, str) else f"object {dump(shape)}"


def _required_fields(spec: Spec, schema: Any) -> list[str]:
    node = spec.resolve(schema)
    names = node.get("required") if isinstance(node, Mapping) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
