"""Flat tool calling: every endpoint is a tool, one prompt writes the whole request, raw answers come back pruned.

No Planner, no selector, no Caller, no Parser: what a model with a plain tool interface does. The HTTP client still
refuses whatever the description does not allow.
"""

from __future__ import annotations

from typing import Any

from toolkit.restgpt.asking import Module, Unusable, prose, text_field
from toolkit.restgpt.caller import read_call
from toolkit.restgpt.exchange import RestCall
from toolkit.restgpt.executor import describe_failure
from toolkit.restgpt.planner import Done
from toolkit.restgpt.render import prune_json, render_lines
from toolkit.restgpt.spec import Endpoint, Spec
from toolkit.restgpt.workbench import Verdict, Workbench

RAW_SHARE = 0.15
TOOLS_SHARE = 0.3
TOKENS = 600


class Flat:
    """One prompt for everything."""

    def solve(self, request: str, bench: Workbench) -> Verdict:
        """Call tools until the model answers."""
        history: list[Done] = []
        while True:
            action = self._act(request, history, bench)
            if isinstance(action, Verdict):
                return action
            bench.budget.sub_task()
            written = f"{action.method} {action.path} query={dict(action.query)} body={action.body}"
            bench.trace.add("api_plan", text=written)
            history.append(Done(written, written, self._send(action, request, bench)))

    def _send(self, call: RestCall, request: str, bench: Workbench) -> str:
        """The raw answer to a call, pruned; or what went wrong."""
        exchange = bench.executor.send(call)
        if exchange is None:
            return "not sent: the user did not allow it"
        if not exchange.ok:
            return f"failed: {describe_failure(exchange)}"
        tokens = bench.asker.room(RAW_SHARE)
        shown = prune_json(exchange.json, request, tokens, bench.asker.model.count) if exchange.json is not None else ""
        return f"{exchange.status} {shown or (exchange.text or '')[:500]}"

    def _act(self, request: str, history: list[Done], bench: Workbench) -> RestCall | Verdict:
        """The next request, or the answer."""
        schema = {
            "properties": {
                "method": {"type": "string"},
                "path": {"type": "string"},
                "query": {"type": "object"},
                "body": {},
                "answer": prose(1500),
                "solved": {"type": "boolean"},
            },
            "required": [],
        }

        def read(data: dict[str, Any]) -> RestCall | Verdict:
            if "answer" in data:
                solved = data.get("solved", True) is True
                if solved and not history:
                    raise Unusable("nothing was called yet: an answer must come from the service")
                return Verdict(text_field(data, "answer"), solved)
            return read_call(data)

        situation = f"Request: {request}\n{bench.told(history)}"
        known = f"Tools:\n{tools(request, bench)}"
        return bench.asker.ask(Module.load("flat"), situation, read, schema, known, TOKENS)


def tools(request: str, bench: Workbench) -> str:
    """As many tools as fit in their share of the context, the ones that the request is about first to stay."""
    return render_lines(
        [signature(bench.spec, endpoint) for endpoint in bench.spec.endpoints],
        [endpoint.key for endpoint in bench.spec.endpoints],
        bench.asker.room(TOOLS_SHARE),
        bench.asker.model.count,
        request,
    )


def signature(spec: Spec, endpoint: Endpoint) -> str:
    """An endpoint as a tool on one line: what it takes (required marked with a star) and what it is for."""
    takes = [f"{each.name}{'*' if each.required else ''}" for each in endpoint.of_place("query")]
    parts = [f"query: {', '.join(takes)}"] if takes else []
    if endpoint.body is not None:
        schema = spec.resolve(endpoint.body.schema)
        properties, required = schema.get("properties", {}), schema.get("required", [])
        fields = [f"{name}{'*' if name in required else ''}" for name in properties]
        parts.append(f"body: {', '.join(fields) or 'JSON'}")
    about = (endpoint.summary or endpoint.description).strip().partition("\n")[0][:100]
    return f"{endpoint.key} ({'; '.join(parts)}) {about}"
