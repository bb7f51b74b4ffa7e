"""The executor of RestGPT (section 3.3): Caller, HTTP client and Parser carry out an API plan, call by call.

All planning strategies run on it, as in the paper. Whatever goes wrong with a call becomes an honest sentence in the
result; only limits, a dead model and a dry run end the plan. Knows nothing of planning.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

from toolkit.restgpt.asking import NoAnswer
from toolkit.restgpt.budget import Budget
from toolkit.restgpt.caller import Caller, FormedCall
from toolkit.restgpt.evidence import Evidence
from toolkit.restgpt.exchange import Exchange, RestCall
from toolkit.restgpt.http import Prepared, RestClient
from toolkit.restgpt.parser import Parser
from toolkit.restgpt.selector import ApiPlan, PlannedCall
from toolkit.restgpt.trace import Trace

Confirm = Callable[[Prepared], bool]
REPAIRS = 1
MOST_OF_A_REFUSAL = 300
# The caller may have got these wrong; the others are nothing it could mend.
_MENDABLE = {"client_error"}


class DryRun(Exception):
    """A request was formed and shown instead of sent; nothing further can be known."""


class Executor:
    """Carries out API plans. `confirm` is asked before every write; `dry_run` sends nothing at all."""

    def __init__(
        self,
        caller: Caller,
        client: RestClient,
        parser: Parser,
        budget: Budget,
        trace: Trace,
        evidence: Evidence,
        confirm: Confirm,
        dry_run: bool = False,
    ) -> None:
        self._caller, self._client, self._parser = caller, client, parser
        self._budget, self._trace, self._evidence = budget, trace, evidence
        self._confirm, self._dry_run = confirm, dry_run

    def run(self, plan: ApiPlan, task: str, background: str) -> str:
        """The execution result of a plan, in words. Raises `DryRun` when nothing may be sent."""
        results: list[str] = []
        for planned in plan.calls:
            with contextlib.suppress(DryRun):
                results.append(self._one(planned, task, "\n".join([background, *results])))
                self._trace.add("result", text=results[-1])
        if self._dry_run and plan.calls:
            raise DryRun
        return "\n".join(results) or plan.note

    def send(self, call: RestCall) -> Exchange | None:
        """Send a checked call within the budget; None when it was a write and the user did not allow it."""
        prepared = self._client.check(call)
        if isinstance(prepared, Prepared):
            self._trace.add("call", method=prepared.method, url=prepared.url, body=prepared.body)
            if self._dry_run:
                raise DryRun
            if prepared.endpoint.is_write and not self._confirm(prepared):
                return None
        self._budget.call()
        exchange = self._client.call(call, self._budget.seconds_left)
        record = exchange.record()
        if exchange.text is not None and len(exchange.text) >= self._client.limits.keep_text:
            record["json"] = None  # the kept beginning of the text has to do for the record
        self._trace.add("exchange", **record)
        self._evidence.add(exchange)
        return exchange

    def _one(self, planned: PlannedCall, task: str, background: str) -> str:
        """The result of one call; a request that the service finds wrong is formed anew."""
        failure = ""
        for attempt in range(1 + REPAIRS):
            try:
                formed = self._caller.form(planned, task, background, failure)
            except NoAnswer as problem:
                return f"{planned.endpoint.key}: no request could be formed ({problem.reason})."
            exchange = self.send(formed.call)
            if exchange is None:
                return f"{planned.text}: not sent, the user did not allow it."
            if exchange.ok:
                return self._read(exchange, planned, formed)
            failure = describe_failure(exchange)
            if exchange.error not in _MENDABLE or attempt == REPAIRS:
                break
        return f"{planned.endpoint.key} failed: {failure}."

    def _read(self, exchange: Exchange, planned: PlannedCall, formed: FormedCall) -> str:
        """What a good answer says."""
        if exchange.json is None:
            said = f": {exchange.text.strip()[:500]}" if exchange.text and exchange.text.strip() else ""
            return f"{planned.text}: done, the service answered {exchange.status}{said or ' without content'}."
        try:
            return self._parser.read(exchange, planned.endpoint, f"{formed.output} (for: {planned.purpose})")
        except NoAnswer as problem:
            return f"{planned.text}: the service answered {exchange.status}, but {problem}."


def describe_failure(exchange: Exchange) -> str:
    """What went wrong with a call, in one line for the model and the user, the service's own JSON included."""
    parts = [] if exchange.status is None else [f"status {exchange.status}"]
    parts.append((exchange.error or "").replace("_", " "))
    if exchange.message:
        parts.append(exchange.message)
    if exchange.json is not None:
        parts.append(json.dumps(exchange.json, ensure_ascii=False)[:MOST_OF_A_REFUSAL])
    return ", ".join(parts)
