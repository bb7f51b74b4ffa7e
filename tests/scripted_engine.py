"""A scripted engine: answers from a hash of the prompt, with right calls, wrong ones, garbage, and no model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.base import Source, load
from experiments.operators.config import ModelConfig, OperatorsConfig, Variant
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.prompts import Asked
from experiments.records import Sample
from experiments.suites.suite import Suite
from toolkit.calls.syntax import ARROW, SYNTAXES
from toolkit.decoding.request import CallRecord, Reply
from toolkit.tools.toolbox import Toolbox


@dataclass
class ScriptedEngine:
    model: ModelConfig
    variant: Variant
    suite: Suite
    config: OperatorsConfig
    pause: float = 0.0
    description: dict[str, Any] = field(default_factory=lambda: {"weights_sha256": "scripted"})

    def answer(self, asked: Iterable[Asked]) -> Iterator[Reply]:
        """As the real one: some questions are under way at a time, and they finish in another order."""
        questions = iter(asked)
        under_way = list(islice(questions, self.config.slots))
        while under_way:
            under_way.sort(key=lambda one: hashlib.sha256(one.item.id.encode()).digest())
            one = under_way.pop(0)
            if self.pause:
                time.sleep(self.pause)
            yield self.reply(one)
            under_way.extend(islice(questions, 1))

    def reply(self, one: Asked) -> Reply:
        syntax = SYNTAXES.get(self.variant.syntax, ARROW)
        box = Toolbox(self.suite.tools)
        arguments = one.question.arguments
        kind = int(hashlib.sha256((one.prompt + str(one.seed)).encode()).hexdigest(), 16) % 4
        if kind == 0:
            return Reply(one.item.id, [1, 2], [1, 1], f" {arguments} is 7.", [], "stop")
        if kind == 1:
            arguments = arguments.replace("*", "+").replace("-", "+")
        name = "MATH" if kind != 2 else "MASH"
        head = f" {one.question.arguments} is "
        outcome = box.run(name, arguments)
        call = syntax.call(name, arguments)
        text = f"{head}{call}{syntax.injection(outcome.text)} {outcome.text} \u2028 é."
        start = len(head.encode())
        record = CallRecord(name, arguments, outcome, start, start + len(call.encode()))
        return Reply(one.item.id, list(range(len(text))), [1] * 5 + [0] * (len(text) - 5), text, [record], "stop")


class Quiet:
    """A Watch that counts."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.written: list[Sample] = []

    def begin(self, total: int, done: int, items: object) -> None:
        self.total, self.done = total, done

    def answered(self, item_id: str) -> None:
        self.made.append(item_id)

    def saved(self, samples: Sequence[Sample]) -> None:
        self.written.extend(samples)


def scripted(config: Path, *assignments: str, pause: float = 0.0) -> tuple[OperatorTransfer, Source]:
    experiment, typed = load(config, assignments)
    assert isinstance(experiment, OperatorTransfer)
    experiment._open = lambda *arguments: ScriptedEngine(*arguments, pause=pause)
    return experiment, Source(config, typed)
