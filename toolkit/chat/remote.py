"""A server that answers with tools: the text is read as it is written, stopped at a call, and continued after it.

The scanner is the one that watches local models, and calls are recorded alike. A completion endpoint continues any
text. A chat endpoint is asked to go on with the assistant's turn; where the server refuses that (400 or 422), results
are told in a user turn instead, from then on. Knows nothing of terminals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolkit.calls.scanner import Call, Scanner
from toolkit.calls.syntax import ARROW, Syntax
from toolkit.chat.answer import Answer, OnText, Pieces, Settings, turns_of
from toolkit.chat.turns import PLAIN, plain_turns
from toolkit.decoding.request import CallRecord, Finish
from toolkit.errors import UserError
from toolkit.models.streaming import Ended, Refused, TextStream
from toolkit.plugins.compile import shots
from toolkit.plugins.plugin import LocalPlugin
from toolkit.tools.outcome import Outcome
from toolkit.tools.safety import safe_result
from toolkit.tools.toolbox import Toolbox

PREFILL = {"continue_final_message": True, "add_generation_prompt": False}  # vLLM, SGLang; llama.cpp needs no word
Message = dict[str, str]


@dataclass
class _Text:
    """One answer while it is written."""

    pieces: Pieces
    written: str = ""
    told: list[Message] = field(default_factory=list)  # turns after the question, where results are told
    told_to: int = 0  # how much of `written` they hold
    records: list[CallRecord] = field(default_factory=list)

    def add(self, text: str, by_model: bool) -> None:
        self.pieces.add(text.encode(), by_model)
        self.written += text


class RemoteWriter:
    """Answers with a server's model: `chat` uses `/chat/completions`, else `/completions`.

    Only syntaxes without control tokens can be used, since a server may or may not read those in a text. UserError for
    another one, and for `constrain`, which needs the model's logits.
    """

    def __init__(
        self, stream: TextStream, plugins: Sequence[LocalPlugin], toolbox: Toolbox, settings: Settings, chat: bool
    ) -> None:
        self.name, self.syntax = stream.url, settings.syntax or ARROW
        self._stream, self._toolbox, self._settings, self._chat = stream, toolbox, settings, chat
        if self.syntax.arguments == "json":
            raise UserError(
                f"the syntax {self.syntax.name} cannot be sent to a server", "--syntax", "use arrow, equals or react"
            )
        if settings.constrain:
            raise UserError("calls can be constrained in local models only", "--constrain", "leave it out")
        chosen = shots([plugin.manifest for plugin in plugins], first=settings.shots)
        self._examples = [(shot.question, shot.answer) for shot in chosen]
        self._turns = plain_turns(self.syntax)
        self._stop = () if chat else self._turns.stop
        self._prefills = True

    def answer(self, past: Sequence[Answer], question: str, on_text: OnText) -> Answer:
        """The answer to `question`. Raises ModelError when the server gives none; what was shown of it is lost."""
        text = _Text(Pieces(on_text))
        deadline = time.monotonic() + self._settings.seconds
        question = " ".join(question.split())
        finish: Finish | None = None
        while finish is None:
            begun = len(text.written.encode())
            call, ended = self._stretch(past, question, text, deadline)
            if call is None:
                finish = "tokens" if ended.ending == "length" else "stop"
            elif len(text.records) >= self._settings.calls:
                finish = "calls"
            else:
                self._run(call, begun, past, text)
        return Answer(question, text.written, text.pieces.done(), tuple(text.records), finish)

    def _stretch(
        self, past: Sequence[Answer], question: str, text: _Text, deadline: float
    ) -> tuple[Call | None, Ended]:
        """Read on until a call has closed, or to the end."""
        ended = Ended()
        scanner = Scanner(self.syntax)
        taken = b""
        parts = self._parts(past, question, text, deadline - time.monotonic(), ended)
        for part in until(parts, self._stop):
            data = part.encode("utf-8", "replace")
            call = scanner.feed(data)
            kept = data if call is None else (taken + data)[: call.end][len(taken) :]
            text.add(kept.decode("utf-8", "replace"), by_model=True)
            taken += data
            if call is not None:
                return call, ended
        return None, ended

    def _parts(self, past: Sequence[Answer], question: str, text: _Text, seconds: float, ended: Ended) -> Iterator[str]:
        """The server's text after what is written so far."""
        wanted: dict[str, Any] = {"max_tokens": self._settings.tokens, "temperature": self._settings.temperature or 0}
        wanted |= {"stop": list(self._stop)} if self._stop else {}
        if not self._chat:
            prompt = self._prompt(past, question) + text.written
            yield from self._stream.read("/completions", {**wanted, "prompt": prompt}, seconds, ended)
            return
        before = self._messages(past, question)
        if text.written and self._prefills:
            goes_on = [*before, {"role": "assistant", "content": text.written}]
            try:
                yield from self._stream.read(
                    "/chat/completions", {**wanted, **PREFILL, "messages": goes_on}, seconds, ended
                )
                return
            except Refused:
                self._prefills = False
        messages = [*before, *text.told]
        yield from self._stream.read("/chat/completions", {**wanted, "messages": messages}, seconds, ended)

    def _run(self, call: Call, begun: int, past: Sequence[Answer], text: _Text) -> None:
        """Run a call, record it, write its result."""
        outcome = self._toolbox.run(call.name, call.arguments, turns_of(past))
        text.records.append(CallRecord(call.name, call.arguments, outcome, begun + call.start, begun + call.end))
        result = self._result(outcome)
        said = text.written[text.told_to :]
        text.add(self.syntax.injection(result) if result else self.syntax.silent(), by_model=False)
        text.told_to = len(text.written)
        shown = f"The result of {call.name} is: {result}. Go on with your answer from there."
        text.told += [{"role": "assistant", "content": said}, {"role": "user", "content": shown}]

    def _result(self, outcome: Outcome) -> str:
        return safe_result(outcome.text if outcome.ok else f"error: {outcome.text}", self.syntax)

    def _prompt(self, past: Sequence[Answer], question: str) -> str:
        head = self._turns.examples(self._examples, self.syntax).text
        said = "".join(self._turns.ask(one.question) + one.text.rstrip("\n") + self._turns.after for one in past)
        return head + said + self._turns.ask(question)

    def _messages(self, past: Sequence[Answer], question: str) -> list[Message]:
        exchanges = [(asked, _rendered(asked, answer, self.syntax)) for asked, answer in self._examples]
        exchanges += [(one.question, one.text.strip()) for one in past]
        roles = [
            message
            for asked, answer in exchanges
            for message in ({"role": "user", "content": asked}, {"role": "assistant", "content": answer})
        ]
        return [*roles, {"role": "user", "content": question}]


def _rendered(question: str, answer: str, syntax: Syntax) -> str:
    """An example's answer in `syntax`."""
    _, *segments = PLAIN.exchange(question, answer, syntax).segments
    return "".join(segment.text for segment in segments).strip()


def until(parts: Iterable[str], stops: Sequence[str]) -> Iterator[str]:
    """The text before the first stop string, which servers may ignore; what may begin one is held back."""
    held = ""
    for part in parts:
        held += part.replace("\r", "")
        found = [at for mark in stops if (at := held.find(mark)) >= 0]
        if found:
            yield held[: min(found)]
            return
        ends = (size for mark in stops for size in range(len(mark) - 1, 0, -1) if held.endswith(mark[:size]))
        keep = max(ends, default=0)
        ready, held = held[: len(held) - keep], held[len(held) - keep :]
        if ready:
            yield ready
    if held:
        yield held
