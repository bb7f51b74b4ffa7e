"""The engines that are compared: ours, its floor, and what one would write with Hugging Face alone.

Each takes questions and returns one visible reply per question. They share the byte-exact call finder and the tools, so
that only decoding differs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from transformers import ContinuousBatchingConfig, DynamicCache, GenerationConfig

from scripts.bench.workload import MODEL_TOKENS, SEGMENT_TOKENS, Question, Workload
from toolkit.calls.find import find_call
from toolkit.calls.syntax import ARROW
from toolkit.decoding import Request
from toolkit.decoding.step import Feed


class Ours:
    """(ours) the interceptor: shared prefix, refilled slots. Records its steps for the floor."""

    name = "ours"

    def __init__(self, work: Workload, slots: int = 256) -> None:
        self.work, self.slots = work, slots
        self.interceptor = work.interceptor(slots)
        self.steps: list[list[Feed]] = []
        self.forward = self.interceptor.engine.forward
        self.interceptor.engine.forward = self._recorded  # type: ignore[method-assign]
        question = work.tokenizer.encode("<Guest> What is", add_special_tokens=False)
        self.lead = len(question)
        self.head = [*work.fragment_ids, *question]

    def _recorded(self, feeds: Sequence[Feed]) -> Any:
        self.steps.append(list(feeds))
        return self.forward(feeds)

    def run(self, questions: Sequence[Question], sampled: bool) -> list[str]:
        """Answer; the prefix is computed anew each time, so its cost is in."""
        self.steps.clear()
        prefix = self.interceptor.prefix(self.head)
        sampling, limits = self.work.sampling(sampled), self.work.limits
        requests = (
            Request(q.id, q.ids[self.lead :], prefix, seed=q.seed, limits=limits, sampling=sampling) for q in questions
        )
        texts = {reply.id: reply.text for reply in self.interceptor.run(requests)}
        return [texts[q.id] for q in questions]

    @property
    def occupancy(self) -> float:
        """Mean share of slots that fed tokens, over steps."""
        return sum(len(feeds) for feeds in self.steps) / (len(self.steps) * self.slots)

    @property
    def tokens(self) -> int:
        """Tokens fed in the last run, the prefix included."""
        return len(self.head) + sum(len(feed.tokens) for feeds in self.steps for feed in feeds)


class Floor:
    """(g) the recorded steps again, forward passes only: no tools, no sampling, no scanning, shared prefix on."""

    name = "g floor"

    def __init__(self, ours: Ours) -> None:
        self.ours = ours

    def run(self, questions: Sequence[Question], sampled: bool) -> list[str]:
        """Replay the last run of ours."""
        self.ours.interceptor.prefix(self.ours.head)
        for feeds in list(self.ours.steps):
            self.ours.forward(feeds)
        return []


class Naive:
    """(a) the original's loop: batch 1, the whole context encoded and prefilled again after each call.

    `stopping` adds stop strings, which the original lacks: it generates its full budget and throws the rest away.
    """

    def __init__(self, work: Workload, stopping: bool) -> None:
        self.work, self.stopping = work, stopping
        self.name = "a' naive, with stop strings" if stopping else "a naive"

    def run(self, questions: Sequence[Question], sampled: bool) -> list[str]:
        """One question after the other."""
        return [self._reply(question, sampled) for question in questions]

    def _reply(self, question: Question, sampled: bool) -> str:
        work, reply = self.work, ""
        options = work.options(sampled) | {"max_new_tokens": SEGMENT_TOKENS}
        if self.stopping:
            options |= {"stop_strings": [")", "\n"], "tokenizer": work.tokenizer}
        for _ in range(5):
            inputs = work.tokenizer(work.fragment + question.prompt + reply, return_tensors="pt")
            out = work.model.generate(**inputs, **options)
            text = work.tokenizer.decode(out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
            reply, done = advance(work, reply, text)
            if done:
                break
        return reply


class Batched:
    """(b) `generate` over a left-padded batch with stop strings, prefilled again in each round; (c) with the fragment's
    key/values given as a prefilled cache.
    """

    def __init__(self, work: Workload, cached: bool, size: int = 64) -> None:
        self.work, self.cached, self.size = work, cached, size
        self.name = "c generate, prefix cache" if cached else "b generate, batched"
        work.tokenizer.padding_side, work.tokenizer.pad_token = "left", work.tokenizer.eos_token

    def run(self, questions: Sequence[Question], sampled: bool) -> list[str]:
        """Batches of `size`, each in rounds until its last row is done."""
        texts: list[str] = []
        cache = self._prefix() if self.cached else None
        for start in range(0, len(questions), self.size):
            texts += self._batch(questions[start : start + self.size], sampled, cache)
        return texts

    @torch.inference_mode()
    def _prefix(self) -> DynamicCache:
        cache = DynamicCache()
        self.work.model(input_ids=torch.tensor([self.work.fragment_ids]), cache=cache, use_cache=True)
        return cache

    def _batch(self, questions: Sequence[Question], sampled: bool, prefix: DynamicCache | None) -> list[str]:
        replies, open_rows = [""] * len(questions), list(range(len(questions)))
        for _ in range(5):
            if not open_rows:
                break
            prompts = [questions[n].prompt + replies[n] for n in open_rows]
            for n, text in zip(open_rows, self._round(prompts, sampled, prefix), strict=True):
                replies[n], done = advance(self.work, replies[n], text)
                if done:
                    open_rows = [row for row in open_rows if row != n]
        return replies

    def _round(self, prompts: list[str], sampled: bool, prefix: DynamicCache | None) -> list[str]:
        work = self.work
        options = work.options(sampled) | {"max_new_tokens": SEGMENT_TOKENS, "stop_strings": [")", "\n"]}
        if prefix is None:
            inputs = work.tokenizer([work.fragment + prompt for prompt in prompts], return_tensors="pt", padding=True)
        else:
            inputs = work.tokenizer(prompts, return_tensors="pt", padding=True)
            head = torch.tensor([work.fragment_ids] * len(prompts))
            ones = torch.ones_like(head)
            inputs = {
                "input_ids": torch.cat((head, inputs["input_ids"]), dim=1),
                "attention_mask": torch.cat((ones, inputs["attention_mask"]), dim=1),
            }
            options["cache"] = copy.deepcopy(prefix)
            options["cache"].batch_repeat_interleave(len(prompts))
        out = work.model.generate(**inputs, **options, tokenizer=work.tokenizer)
        return work.tokenizer.batch_decode(out[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


class Continuous:
    """(d) `generate_batch`: ends a row at any token that holds `)` or a newline, then submits it again."""

    name = "d generate_batch"

    def __init__(self, work: Workload) -> None:
        self.work = work
        table = work.interceptor(1).vocabulary.bytes_of
        self.ends = [token for token, data in enumerate(table) if b")" in data or b"\n" in data]

    def run(self, questions: Sequence[Question], sampled: bool) -> list[str]:
        """Rounds of resubmission; finished blocks of the prompt are shared by the library's prefix cache."""
        work = self.work
        replies, open_rows = [""] * len(questions), list(range(len(questions)))
        options = work.options(sampled) | {"max_new_tokens": SEGMENT_TOKENS}
        config = GenerationConfig(**options, eos_token_id=[*self.ends, work.tokenizer.eos_token_id])
        paging = ContinuousBatchingConfig(page_size=16, seed=1)
        for _ in range(5):
            if not open_rows:
                break
            inputs = [work.tokenizer.encode(work.fragment + questions[n].prompt + replies[n]) for n in open_rows]
            out = work.model.generate_batch(inputs, config, paging)
            for n, result in zip(list(open_rows), _in_order(out), strict=True):
                if result.error:
                    raise RuntimeError(f"generate_batch: {result.error}")
                text = work.tokenizer.decode(result.generated_tokens, skip_special_tokens=True)
                replies[n], done = advance(work, replies[n], text)
                if done:
                    open_rows.remove(n)
        return replies


def _in_order(out: dict[str, Any]) -> list[Any]:
    """Results in the order of submission (ids end in a running number)."""
    return [out[key] for key in sorted(out, key=lambda name: int("".join(c for c in name if c.isdigit())))]


def advance(work: Workload, reply: str, text: str) -> tuple[str, bool]:
    """The reply after a stretch of model text: with the first call's result written in, or ended."""
    line, _, _ = text.partition("\n")
    call = find_call(line, ARROW)
    if call is None:
        return reply + line, True
    outcome = work.toolbox.run(call.name, call.arguments)
    head = line.encode()[: call.end].decode("utf-8", "replace")
    result = outcome.text if outcome.ok else f"error: {outcome.text}"
    reply = reply + head + ARROW.injection(result)
    return reply, len(work.tokenizer.encode(reply)) > 2 * MODEL_TOKENS
