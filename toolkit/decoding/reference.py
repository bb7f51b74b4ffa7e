"""The plain reference loop: one row, no cache, the whole text through the model for every token.

Slow and obvious on purpose; it is the oracle of the interceptor's tests and the baseline of its benchmarks. It shares
with the interceptor the sampler, the byte table and the whole-text call finder, and none of its machinery.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from toolkit.calls.find import find_call
from toolkit.calls.syntax import ARROW, Syntax
from toolkit.decoding.constraint import Constraint
from toolkit.decoding.policy import STRICT, Policy
from toolkit.decoding.request import CallRecord, Finish, Reply, Request
from toolkit.decoding.sampler import Stream, pick
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.tools.safety import safe_result
from toolkit.tools.toolbox import Toolbox


class ReferenceLoop:
    """Decodes one request at a time by the definition. `prefix_ids` stand for the request's shared prefix."""

    def __init__(
        self, model: Any, tokenizer: Any, toolbox: Toolbox, syntax: Syntax = ARROW, policy: Policy = STRICT
    ) -> None:
        self.model, self.toolbox, self.syntax, self.policy = model, toolbox, syntax, policy
        self.vocabulary = Vocabulary(tokenizer, syntax.opener + syntax.args_open)
        ends = model.generation_config.eos_token_id
        self.ends = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id} - {None}
        self.positions: int | None = getattr(model.config, "max_position_embeddings", None)

    @torch.inference_mode()
    def next_token(self, ids: Sequence[int], request: Request, stream: Stream, constraint: Constraint | None) -> int:
        """The token after `ids`."""
        device = self.model.get_input_embeddings().weight.device
        logits = self.model(input_ids=torch.tensor([list(ids)], device=device), use_cache=False).logits[:, -1]
        if constraint is not None and (mask := constraint.mask()) is not None:
            logits = logits.masked_fill(~mask.to(device), float("-inf"))
        uniforms = [] if request.sampling.temperature is None else [stream.uniform()]
        token = int(pick(logits, request.sampling, uniforms))
        if constraint is not None:
            constraint.advance(token)
        return token

    def reply(self, request: Request, prefix_ids: Sequence[int] = ()) -> Reply:
        """Decode `request` to its end."""
        before = [*prefix_ids, *request.prompt]
        stream = Stream(request.seed, request.id)
        constraint = None if request.constraint is None else request.constraint()
        state = _Text(self, request, len(before))
        while state.finish is None:
            state.take(self.next_token([*before, *state.ids], request, stream, constraint))
        text = state.data if state.cut is None else state.data[: state.cut]
        return Reply(request.id, state.ids, state.source, text.decode("utf-8", "replace"), state.calls, state.finish)


class _Text:
    """What the loop has so far. Segments are stretches of model text between injections."""

    def __init__(self, loop: ReferenceLoop, request: Request, before: int) -> None:
        self.loop, self.request, self.before = loop, request, before
        self.ids: list[int] = []
        self.source: list[int] = []
        self.data = b""
        self.byte_source: list[int] = []
        self.segment = 0
        self.search: int | None = 0
        self.spent = 0
        self.cut: int | None = None
        self.calls: list[CallRecord] = []
        self.finish: Finish | None = None
        limits = [limit for limit in (loop.positions, request.limits.context) if limit is not None]
        self.context = min(limits) if limits else None
        if self.context is not None and before >= self.context:
            self.finish = "context"

    def take(self, token: int) -> None:
        """Add a sampled token and act on what the text now is."""
        self._add([token], 1)
        self.spent += 1
        stops = [self.data.find(stop.encode(), self.segment) for stop in self.request.stop]
        stop = min((at for at in stops if at >= 0), default=None)
        call = None
        if self.search is not None:
            call = find_call(self.data[self.search : stop], self.loop.syntax, self.loop.policy.first_only)
        if call is not None and self.search is not None:
            self._call(call.name, call.arguments, self.search + call.start, self.search + call.end)
        if self.finish is not None or (call is not None and self.segment == len(self.data)):
            return
        if stop is not None:
            self.cut, self.finish = stop, "stop"
        elif token in self.loop.ends:
            self.finish = "eos"
        else:
            self._limits()

    def _limits(self) -> None:
        if self.spent >= self.request.limits.model_tokens:
            self.finish = "tokens"
        elif self.context is not None and self.before + len(self.ids) >= self.context:
            self.finish = "context"

    def _add(self, ids: list[int], source: int) -> None:
        data = self.loop.vocabulary.join(ids)
        self.ids, self.source, self.data = self.ids + ids, self.source + [source] * len(ids), self.data + data
        self.byte_source += [source] * len(data)

    def _keep(self, end: int) -> None:
        """Cut the last token at byte `end`."""
        surplus = len(self.data) - end
        if surplus:
            token = self.loop.vocabulary.bytes_of[self.ids[-1]]
            self.ids, self.source = self.ids[:-1], self.source[:-1]
            self.data = self.data[: -len(token)]
            self.byte_source = self.byte_source[: len(self.data)]
            self._add(self.loop.vocabulary.encode_bytes(token[:-surplus]), 1)

    def _call(self, name: str, arguments: str, start: int, end: int) -> None:
        """Run the call and write its result, or do what the policy says of a failed one."""
        if len(self.calls) >= self.request.limits.calls:
            self._keep(end)
            self.finish = "calls"
            return
        outcome = self.loop.toolbox.run(name, arguments, self.request.history)
        self.calls.append(CallRecord(name, arguments, outcome, start, end))
        policy = self.loop.policy
        if outcome.ok or policy.on_failure == "inject":
            self._inject(self.loop.syntax.call(name, arguments), self._result(outcome.text, outcome.ok), start, end)
        elif policy.on_failure == "end":
            self._keep(end)
            self.finish = "tool"
        else:
            self.search = None if policy.first_only else len(self.data)

    def _result(self, text: str, ok: bool) -> str:
        syntax, cap = self.loop.syntax, self.request.limits.result_tokens
        vocabulary = self.loop.vocabulary
        text = vocabulary.defused(safe_result(text if ok else f"error: {text}", syntax, cap * 16))
        while text and len(ids := vocabulary.encode(syntax.injection(text))) > cap:
            text = text[: len(text) * cap // (len(ids) + 1)]
        return syntax.injection(text) if text else syntax.silent()

    def _inject(self, call: str, result: str, start: int, end: int) -> None:
        if self.loop.policy.retokenise:
            self.byte_source = self.byte_source[:start] + [1] * len(call.encode()) + [0] * len(result.encode())
            self.data = self.data[:start] + call.encode() + result.encode()
            self.ids = self.loop.vocabulary.encode_bytes(self.data)
            ends = [len(self.loop.vocabulary.join(self.ids[:n])) for n in range(len(self.ids))]
            self.source = [self.byte_source[at] for at in ends]
        else:
            self._keep(end)
            ids = self.loop.vocabulary.encode(result)
            if self.context is not None and self.before + len(self.ids) + len(ids) >= self.context:
                self.finish = "context"
                return
            self._add(ids, 0)
        self.segment = self.search = len(self.data)
        if self.loop.policy.segment_budget:
            self.spent = 0
        self._limits()
