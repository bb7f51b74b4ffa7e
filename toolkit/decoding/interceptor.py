"""The interceptor: decodes many rows at once, pauses a row the moment it has written a call, runs the tool, writes the
result into its context and lets it go on, while other rows decode.

This is the loop and nothing else: rows know what a token means, the engine knows how to compute logits, the toolbox
knows how to run a call.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import torch

from toolkit.calls.scanner import Call
from toolkit.calls.syntax import ARROW, Syntax
from toolkit.decoding.engine import Engine
from toolkit.decoding.memory import is_out_of_memory
from toolkit.decoding.policy import STRICT, Policy
from toolkit.decoding.prefix import Prefix
from toolkit.decoding.request import Reply, Request
from toolkit.decoding.row import Row, Rules
from toolkit.decoding.sampler import pick
from toolkit.decoding.step import Feed
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.decoding.workers import Workers
from toolkit.errors import UserError
from toolkit.tools.toolbox import Toolbox

STEP_TOKENS = 2048  # most tokens fed in one pass, so that a wave of long prompts cannot exhaust memory
Choose = Callable[[torch.Tensor, Sequence[Row]], list[int]]


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Ids that end a text, from the generation config and the tokenizer."""
    ends = getattr(model.generation_config, "eos_token_id", None)
    ids = [*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id]
    return frozenset(token for token in ids if token is not None)


def choose(logits: torch.Tensor, rows: Sequence[Row]) -> list[int]:
    """Next token of each row by its own settings: logits [rows, V] in the order of `rows`."""
    tokens = [0] * len(rows)
    masks = {n: mask for n, row in enumerate(rows) if row.constraint and (mask := row.constraint.mask()) is not None}
    if masks:
        barred = ~torch.stack(list(masks.values())).to(logits.device)
        logits[list(masks)] = logits[list(masks)].masked_fill(barred, float("-inf"))
    for settings in dict.fromkeys(row.request.sampling for row in rows):
        members = [index for index, row in enumerate(rows) if row.request.sampling == settings]
        part = logits if len(members) == len(rows) else logits[members]
        uniforms = [] if settings.temperature is None else [rows[index].stream.uniform() for index in members]
        for index, token in zip(members, pick(part, settings, uniforms).tolist(), strict=True):
            tokens[index] = token
    return tokens


class Interceptor:
    """Decodes requests in at most `slots` slots with calls run by `toolbox`.

    `memory` (0..1) bounds the slots by a share of the free device memory. When memory runs out all the same, the slots
    are halved and the rows in flight start over: their text is the same, their tools run again.

    `run` streams replies as rows finish; `prefix` makes the shared part of many prompts. An instance is also usable as
    `model.generate(**inputs, custom_generate=interceptor)`, see `toolkit.decoding.generate`.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        toolbox: Toolbox,
        syntax: Syntax = ARROW,
        policy: Policy = STRICT,
        slots: int = 32,
        memory: float | None = None,
    ) -> None:
        self.toolbox = toolbox
        self.engine = Engine(model, slots, memory)
        self.vocabulary = Vocabulary(tokenizer, syntax.opener + syntax.args_open)
        self.rules = Rules(self.vocabulary, syntax, policy, end_tokens(model, tokenizer), self.engine.positions)

    def prefix(self, ids: Sequence[int], after: Prefix | None = None) -> Prefix:
        """The shared prefix of token `ids`, to be given to many requests."""
        return self.engine.prefix(ids, after)

    def run(
        self, requests: Iterable[Request], choose: Choose = choose, ends: frozenset[int] | None = None
    ) -> Iterator[Reply]:
        """Decode all requests; replies come as their rows finish. Requests are pulled only when a slot is free.

        `choose` picks the next tokens and `ends` are the end-of-text ids, where they are not the usual ones.
        """
        rules = self.rules if ends is None else replace(self.rules, ends=ends)
        return _Run(self, iter(requests), choose, rules).replies()

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any = None,
        stopping_criteria: Any = None,
        generation_config: Any = None,
        seed: int | None = None,
        **model_kwargs: Any,
    ) -> Any:
        """The `custom_generate` protocol of transformers; see `toolkit.decoding.generate.generate`."""
        from toolkit.decoding.generate import generate

        mask = model_kwargs.get("attention_mask")
        return generate(self, model, input_ids, logits_processor, stopping_criteria, generation_config, mask, seed)


class _Run:
    """One pass over an iterator of requests."""

    def __init__(self, interceptor: Interceptor, requests: Iterator[Request], choose: Choose, rules: Rules) -> None:
        self.engine, self.toolbox, self.rules = interceptor.engine, interceptor.toolbox, rules
        self.requests, self.choose = requests, choose
        self.rows: dict[int, Row] = {}
        self.free = list(range(self.engine.slots.count))
        self.exhausted = False
        self.workers = Workers(self.toolbox)

    def replies(self) -> Iterator[Reply]:
        """The loop: admit, collect late results, feed, sample, retire."""
        while True:
            self._admit()
            yield from self._retire()
            if not self.rows:
                if self.exhausted:
                    return
                continue
            self._collect()
            feeds = self._feeds()
            try:
                if feeds:
                    self._advance(feeds)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                self._start_over()
            yield from self._retire()

    def _admit(self) -> None:
        """Give free slots to the next requests."""
        while self.free and not self.exhausted:
            request = next(self.requests, None)
            if request is None:
                self.exhausted = True
                break
            if not request.prompt:
                raise UserError("the prompt is empty", where=f"request {request.id}", fix="give at least one token")
            row = Row(request, self.rules)
            row.check_room()
            self.rows[heapq.heappop(self.free)] = row
        if self.exhausted:
            self._compact()

    def _start_over(self) -> None:
        """Half the slots, and every row in flight again from its request."""
        again = [row.request for row in self.rows.values()]
        for slot in self.rows:
            self.workers.forget(slot)
        self.rows.clear()
        self.engine.halve()
        self.free = list(range(self.engine.slots.count))
        self.requests, self.exhausted = chain(again, self.requests), False

    def _compact(self) -> None:
        """Once nothing is left to admit, keep the last rows in the lowest slots, so that steps stay small."""
        highest = max(self.rows, default=0)
        if highest + 1 < 2 * len(self.rows):
            return
        for source in sorted(self.rows, reverse=True):
            if not self.free or self.free[0] > source:
                break
            target = heapq.heapreplace(self.free, source)
            row = self.rows.pop(source)
            self.engine.slots.move(source, target, row.fed)
            self.workers.rename(source, target)
            self.rows[target] = row

    def _collect(self) -> None:
        """Take the results of slow tools; wait for one when no row can go on."""
        for row in self.rows.values():
            row.check_time()
        idle = not any(row.pending or row.finish for row in self.rows.values())
        for slot, outcome in self.workers.collect(block=idle):
            self.rows[slot].resolve(outcome)

    def _feeds(self) -> list[Feed]:
        feeds, room = [], STEP_TOKENS
        for slot, row in self.rows.items():
            tokens = row.take(room)
            if tokens:
                feeds.append(Feed(slot, row.fed, tokens, row.request.prefix, row.ready and not row.pending))
                row.fed += len(tokens)
                room -= len(tokens)
        return feeds

    @torch.inference_mode()
    def _advance(self, feeds: list[Feed]) -> None:
        """One forward pass, one token for each row that has none pending."""
        slots, logits = self.engine.forward(feeds)
        if not slots:
            return
        rows = [self.rows[slot] for slot in slots]
        for slot, row, token in zip(slots, rows, self.choose(logits, rows), strict=True):
            call = row.accept(token)
            if call is not None:
                self._start(slot, row, call)

    def _start(self, slot: int, row: Row, call: Call) -> None:
        """Run a call: fast tools here, others off-thread."""
        if self.toolbox.inline(call.name):
            row.resolve(self.toolbox.run(call.name, call.arguments, row.request.history))
        else:
            self.workers.submit(slot, call.name, call.arguments, row.request.history)

    def _retire(self) -> Iterator[Reply]:
        """Hand out finished rows and free their slots."""
        for slot in [slot for slot, row in self.rows.items() if row.finish is not None]:
            row = self.rows.pop(slot)
            heapq.heappush(self.free, slot)
            self.workers.forget(slot)
            yield row.reply()
