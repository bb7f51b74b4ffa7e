"""One row as a state machine: a queue of pending tokens, what was written, the calls, and why it ended.

A new question, a sampled token and an injected result are the same thing here: tokens to feed. The row decides what a
sampled token means; it never touches a model, a tensor or a tool. The interceptor moves it along.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from toolkit.calls.scanner import Call, Scanner
from toolkit.calls.syntax import Syntax
from toolkit.decoding.policy import Policy
from toolkit.decoding.request import CallRecord, Finish, Reply, Request
from toolkit.decoding.sampler import Stream
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.tools.outcome import Outcome
from toolkit.tools.safety import safe_result


@dataclass(frozen=True)
class Rules:
    """What all rows of an interceptor share."""

    vocabulary: Vocabulary
    syntax: Syntax
    policy: Policy
    ends: frozenset[int]
    context: int | None


class Row:
    """The state of one request while it is decoded."""

    def __init__(self, request: Request, rules: Rules) -> None:
        self.request, self.rules = request, rules
        self.stream = Stream(request.seed, request.id)
        self.constraint = None if request.constraint is None else request.constraint()
        self.pending: deque[int] = deque(request.prompt)
        self.fed = 0  # positions of the row's own key/values
        self.ids: list[int] = []
        self.source: list[int] = []
        self.calls: list[CallRecord] = []
        self.finish: Finish | None = None
        self.waiting: Call | None = None
        self._scanner = Scanner(rules.syntax, rules.policy.first_only)
        self._deaf = False  # no further call is looked for (policy `first_only` after a failed one)
        self._written = bytearray()
        self._origin = bytearray()  # per byte of `_written`: 1 model, 0 tool
        self._stretch = 0  # where the current stretch of model text begins in `_written`
        self._scanned = 0  # where the scanner's stream begins
        self._cut: int | None = None
        self._spent = 0  # model-written tokens that count against the budget
        self._began = time.monotonic()

    # -- what the interceptor asks ------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether the next token is to be sampled once all pending tokens are fed."""
        return self.finish is None and self.waiting is None

    @property
    def length(self) -> int:
        """Positions that the row takes: prefix, prompt and reply, fed or not."""
        prefix = 0 if self.request.prefix is None else self.request.prefix.length
        return prefix + len(self.request.prompt) + len(self.ids)

    @property
    def so_far(self) -> tuple[bytes, bytes]:
        """What the reply holds, and for each of its bytes who wrote it: 1 the model, 0 a tool."""
        return bytes(self._written), bytes(self._origin)

    def check_room(self) -> None:
        """End a row whose prompt leaves no position for a reply."""
        if self._no_room(0):
            self._end("context")

    def check_time(self) -> None:
        """End the row when its wall time is spent."""
        limit = self.request.limits.seconds
        if self.finish is None and limit is not None and time.monotonic() - self._began > limit:
            if self.waiting is not None:
                self._record(self.waiting, Outcome("timeout", "the row's time was spent", limit))
            self._end("time")

    def take(self, most: int) -> list[int]:
        """Remove up to `most` pending tokens to feed them now."""
        return [self.pending.popleft() for _ in range(min(most, len(self.pending)))]

    def reply(self) -> Reply:
        """The finished row."""
        if self.finish is None:
            raise RuntimeError(f"row {self.request.id} is not finished")
        text = bytes(self._written[: self._cut]).decode("utf-8", "replace")
        return Reply(self.request.id, self.ids, self.source, text, self.calls, self.finish)

    # -- what happens to it -------------------------------------------------------------------

    def accept(self, token: int) -> Call | None:
        """Take a sampled token. Returns the call that it completed, which the caller must `resolve`."""
        data = self.rules.vocabulary.bytes_of[token]
        self._append([token], 1, data)
        self._spent += 1
        if self.constraint is not None:
            self.constraint.advance(token)
        stop = self._stop_position(len(data))
        if not self._deaf:
            # Only text before a stop string can complete a call.
            surplus = 0 if stop is None else len(self._written) - stop
            call = self._scanner.feed(data[: max(0, len(data) - surplus)])
            if call is not None:
                return self._intercept(call)
        self._settle(token, stop)
        return None

    def resolve(self, outcome: Outcome) -> None:
        """Take the outcome of the call that `accept` returned."""
        call = self.waiting
        if call is None:
            raise RuntimeError(f"row {self.request.id} waits for no call")
        self.waiting = None
        start, end = self._record(call, outcome)
        policy = self.rules.policy
        if outcome.ok or policy.on_failure == "inject":
            self._inject(call, self._result_text(outcome), start, end)
        elif policy.on_failure == "end":
            self._cut_last_token(end)
            self._end("tool")
        else:
            self._carry_on()

    # -- inside -------------------------------------------------------------------------------

    def _record(self, call: Call, outcome: Outcome) -> tuple[int, int]:
        """Note the call; its byte offsets in the reply."""
        start, end = self._scanned + call.start, self._scanned + call.end
        self.calls.append(CallRecord(call.name, call.arguments, outcome, start, end))
        return start, end

    def _append(self, ids: list[int], source: int, data: bytes) -> None:
        self.ids.extend(ids)
        self.source.extend([source] * len(ids))
        self.pending.extend(ids)
        self._written += data
        self._origin += bytes([source]) * len(data)

    def _end(self, finish: Finish) -> None:
        self.finish = finish
        self.pending.clear()

    def _settle(self, token: int, stop: int | None) -> None:
        """End the row if the token that was just taken asks for it."""
        if stop is not None:
            self._cut = stop
            self._end("stop")
        elif token in self.rules.ends:
            self._end("eos")
        else:
            self._check_budget()

    def _check_budget(self) -> None:
        if self._spent >= self.request.limits.model_tokens:
            self._end("tokens")
        elif self._no_room(0):
            self._end("context")

    def _no_room(self, more: int) -> bool:
        """Whether a token sampled after `more` further ones would have no position."""
        limits = [limit for limit in (self.rules.context, self.request.limits.context) if limit is not None]
        return bool(limits) and self.length + more >= min(limits)

    def _stop_position(self, fresh: int) -> int | None:
        """Offset of the first stop string that the last `fresh` bytes completed in the current stretch."""
        found = []
        for stop in self.request.stop:
            data = stop.encode()
            begin = max(self._stretch, len(self._written) - fresh - len(data) + 1)
            position = self._written.find(data, begin)
            if position >= 0:
                found.append(position)
        return min(found, default=None)

    def _intercept(self, call: Call) -> Call | None:
        """A call has closed: hold its last token back until the outcome decides how much of it is kept."""
        self.pending.pop()
        if len(self.calls) >= self.request.limits.calls:
            self._cut_last_token(self._scanned + call.end)
            self._end("calls")
            return None
        self.waiting = call
        return call

    def _cut_last_token(self, end: int) -> None:
        """Queue the last token, which was held back, as far as byte `end` of the reply."""
        surplus = len(self._written) - end
        token = self.ids[-1]
        if not surplus:
            self.pending.append(token)
            return
        self.ids.pop()
        self.source.pop()
        data = self.rules.vocabulary.bytes_of[token]
        del self._written[len(self._written) - len(data) :]
        del self._origin[len(self._written) :]
        kept = data[: len(data) - surplus]
        self._append(self.rules.vocabulary.encode_bytes(kept), 1, kept)

    def _carry_on(self) -> None:
        """The call has no result: the row goes on as if it had not been intercepted; its last token stays whole."""
        token = self.ids[-1]
        self.pending.append(token)
        self._deaf = self.rules.policy.first_only
        self._scanner.reset()
        self._scanned = len(self._written)
        self._settle(token, self._stop_position(len(self.rules.vocabulary.bytes_of[token])))

    def _result_text(self, outcome: Outcome) -> str:
        """The injected text: ` -> 84]`, its result made safe and short; only the closing mark for an empty result."""
        rules, limit = self.rules, self.request.limits.result_tokens
        text = outcome.text if outcome.ok else f"error: {outcome.text}"
        text = rules.vocabulary.defused(safe_result(text, rules.syntax, limit * 16))
        ids = rules.vocabulary.encode(rules.syntax.injection(text))
        while text and len(ids) > limit:
            text = text[: len(text) * limit // (len(ids) + 1)]
            ids = rules.vocabulary.encode(rules.syntax.injection(text))
        return rules.syntax.injection(text) if text else rules.syntax.silent()

    def _inject(self, call: Call, text: str, start: int, end: int) -> None:
        """Write the result after the call and let the row go on."""
        if self.rules.policy.retokenise:
            self._rewrite(call, text, start)
        else:
            self._cut_last_token(end)
            ids = self.rules.vocabulary.encode(text)
            if self._no_room(len(ids)):
                return self._end("context")
            self._append(ids, 0, text.encode())
        self._stretch = self._scanned = len(self._written)
        self._scanner.reset()
        if self.rules.policy.segment_budget:
            self._spent = 0
        return self._check_budget()

    def _rewrite(self, call: Call, text: str, start: int) -> None:
        """Write call and result again and encode the whole reply anew (policy `retokenise`), keeping what is fed."""
        written = self.rules.syntax.call(call.name, call.arguments).encode()
        self._written = bytearray(self._written[:start] + written + text.encode())
        self._origin = bytearray(self._origin[:start] + b"\x01" * len(written) + bytes(len(text.encode())))
        before, self.ids = self.ids, self.rules.vocabulary.encode_bytes(bytes(self._written))
        fed = self.fed - len(self.request.prompt)
        pairs = zip(before[:fed], self.ids, strict=False)
        kept = next((n for n, (old, new) in enumerate(pairs) if old != new), min(fed, len(self.ids)))
        self.fed = len(self.request.prompt) + kept
        self.pending = deque(self.ids[kept:])
        self.source, at = [], 0
        for token in self.ids:
            self.source.append(self._origin[at])
            at += len(self.rules.vocabulary.bytes_of[token])
