"""A local model that answers with tools: the interceptor, one row at a time, with what was said before in its prompt.

Examples are one shared prefix, computed once. Earlier answers go into the prompt as the tokens they were written in.
Knows nothing of terminals and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch

from toolkit.chat.answer import Answer, OnText, Pieces, Settings, turns_of
from toolkit.chat.turns import turns_for
from toolkit.decoding.interceptor import Interceptor, choose, end_tokens
from toolkit.decoding.request import GREEDY, Limits, Reply, Request, Sampling
from toolkit.decoding.row import Row
from toolkit.errors import UserError
from toolkit.plugins.compile import shots
from toolkit.plugins.plugin import LocalPlugin
from toolkit.tools.toolbox import Toolbox

RESERVE = 64  # positions kept for injected results, beside the tokens that the model may write


class LocalWriter:
    """Answers with `model`. The examples of `plugins` come first in every prompt."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        plugins: Sequence[LocalPlugin],
        toolbox: Toolbox,
        settings: Settings,
        name: str = "model",
    ) -> None:
        self.name, self._settings, self._plugins = name, settings, plugins
        manifests = [plugin.manifest for plugin in plugins]
        self._turns, self.syntax = turns_for(tokenizer, settings.syntax, manifests)
        self._interceptor = Interceptor(model, tokenizer, toolbox, self.syntax, slots=1)
        self._vocabulary = self._interceptor.vocabulary
        examples = [(shot.question, shot.answer) for shot in shots(manifests, first=settings.shots)]
        ids = self._turns.examples(examples, self.syntax).ids(tokenizer)
        if not self._turns.head and tokenizer.bos_token_id in tokenizer("")["input_ids"]:
            ids = [tokenizer.bos_token_id, *ids]
        self._context = self._interceptor.engine.positions
        self._room(len(ids))
        self._prefix = self._interceptor.prefix(ids) if ids else None
        closing = self._vocabulary.encode(self._turns.after)[:1]
        self._ends = end_tokens(model, tokenizer) | {one for one in closing if not self._vocabulary.bytes_of[one]}
        self._constraint = self._grammar(model, tokenizer).constraint if settings.constrain else None

    def answer(self, past: Sequence[Answer], question: str, on_text: OnText) -> Answer:
        """The answer to `question`. The oldest exchanges are forgotten when the context is full."""
        streamed = _Streamed(Pieces(on_text), self._turns.stop)
        request = Request(
            f"{len(past)}",
            self._prompt(past, question),
            self._prefix,
            seed=self._settings.seed,
            limits=Limits(self._settings.tokens, self._settings.calls, seconds=self._settings.seconds),
            sampling=GREEDY if self._settings.temperature is None else Sampling(self._settings.temperature, None, 0.95),
            stop=self._turns.stop,
            history=turns_of(past),
            constraint=self._constraint,
        )
        (reply,) = self._interceptor.run([request], streamed.choose, self._ends)
        written, origin = streamed.row.so_far
        size = min(len(written), len(reply.text.encode())) if reply.finish == "stop" else len(written)
        streamed.show(written[:size], origin)
        return self._answered(question, reply, streamed.pieces, size)

    def _answered(self, question: str, reply: Reply, pieces: Pieces, size: int) -> Answer:
        """The reply as an answer, its tokens cut where its text ends."""
        ids, source, at = [], [], 0
        for token, by_model in zip(reply.ids, reply.source, strict=True):
            data = self._vocabulary.bytes_of[token]
            if at >= size and (token in self._ends or data):
                break
            kept = [token] if at + len(data) <= size else self._vocabulary.encode_bytes(data[: size - at])
            ids += kept
            source += [by_model] * len(kept)
            at += len(data)
        calls, made = tuple(reply.calls), pieces.done()
        return Answer(question, reply.text, made, calls, reply.finish, tuple(ids), tuple(source))

    def _prompt(self, past: Sequence[Answer], question: str) -> list[int]:
        """The exchanges that fit, newest first kept, and the question."""
        asked = self._ask(question)
        used = (self._prefix.length if self._prefix else 0) + len(asked)
        room = self._room(used)
        before: list[int] = []
        for one in reversed(past):
            after = self._vocabulary.encode(self._turns.after)
            exchange = [*self._ask(one.question), *(one.ids or ()), *after]
            if room is not None and len(before) + len(exchange) > room:
                break
            before = exchange + before
        return [*before, *asked]

    def _room(self, used: int) -> int | None:
        """Positions left beside the answer's own; UserError when there is none."""
        if self._context is None:
            return None
        left = self._context - used - self._settings.tokens - RESERVE
        if left < 0:
            raise UserError(
                f"the prompt has {used} tokens; {self._context} hold no {self._settings.tokens} more",
                self.name,
                "use fewer examples (--shots), fewer plugins or fewer --tokens",
            )
        return left

    def _ask(self, question: str) -> list[int]:
        line = " ".join(question.split()) if self._turns.stop else question.strip()
        return self._vocabulary.encode(self._turns.ask(self._vocabulary.defused(line)))

    def _grammar(self, model: Any, tokenizer: Any) -> Any:
        try:
            from toolkit.models.constrained_calls import CallGrammar
        except ModuleNotFoundError as error:
            fix = "pip install 'heldout-toolkit[rest]'"
            raise UserError(f"constrained calls need {error.name}", "--constrain", fix) from error
        apis = {name: api for plugin in self._plugins for name, api in plugin.manifest.apis.items()}
        patterns = {name: api.pattern if api.arguments else "" for name, api in apis.items()}
        return CallGrammar(tokenizer, model.config.get_text_config().vocab_size, self.syntax, patterns)


class _Streamed:
    """Shows a row as it grows, by looking at it whenever its next token is picked."""

    def __init__(self, pieces: Pieces, stop: tuple[str, ...]) -> None:
        self.pieces = pieces
        self.row: Row
        self._held = max((len(mark.encode()) for mark in stop), default=1) - 1  # a stop string may have begun

    def choose(self, logits: torch.Tensor, rows: Sequence[Row]) -> list[int]:
        """The next token of the only row."""
        (self.row,) = rows
        written, origin = self.row.so_far
        self.show(written[: max(len(written) - self._held, 0)], origin)
        return choose(logits, rows)

    def show(self, written: bytes, origin: bytes) -> None:
        """Pass on what is new."""
        at = self.pieces.size
        for by_model, group in groupby(range(at, len(written)), key=lambda index: origin[index]):
            size = len(list(group))
            self.pieces.add(written[at : at + size], bool(by_model))
            at += size
