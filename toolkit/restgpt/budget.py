"""The hard limits of one run and what it has spent of them. Knows nothing of what is being counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class RunLimits:
    """The most that answering one question may take. Defaults: sub-tasks as the paper (15), the rest our choice.

    `continues` is per sub-task. `calls` counts requests handed to the HTTP client. `tokens` counts those read and
    written by the model together. `seconds` is wall time.
    """

    sub_tasks: int = 15
    continues: int = 4
    calls: int = 40
    tokens: int = 400_000
    seconds: float = 1800.0


class LimitReached(Exception):
    """A limit of the run was hit. `name` is the field of `RunLimits`, `limit` its value."""

    def __init__(self, name: str, limit: float) -> None:
        self.name, self.limit = name, limit
        super().__init__(f"the limit of {limit:g} {name.replace('_', '-')} was reached")


class Budget:
    """Counts what a run spends; going past a limit raises `LimitReached` before the thing is done."""

    def __init__(self, limits: RunLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.spent: dict[str, int] = {"sub_tasks": 0, "continues": 0, "calls": 0, "tokens": 0}
        self._clock = clock
        self._start = clock()
        self._continues = 0

    @property
    def seconds(self) -> float:
        """Wall seconds since the start."""
        return self._clock() - self._start

    @property
    def seconds_left(self) -> float:
        """Wall seconds left. Raises `LimitReached` when there are none."""
        left = self.limits.seconds - self.seconds
        if left <= 0:
            raise LimitReached("seconds", self.limits.seconds)
        return left

    def sub_task(self) -> None:
        """A new sub-task begins; its continues are counted from zero."""
        self._take("sub_tasks", self.limits.sub_tasks)
        self._continues = 0

    def proceed(self) -> None:
        """The current sub-task is continued."""
        if self._continues >= self.limits.continues:
            raise LimitReached("continues", self.limits.continues)
        self._continues += 1
        self.spent["continues"] += 1

    def call(self) -> None:
        """A request is about to be handed to the client."""
        self._take("calls", self.limits.calls)

    def tokens_left(self, read: int) -> int:
        """Tokens that the model may write after reading `read`. Raises `LimitReached` when there are none."""
        left = self.limits.tokens - self.spent["tokens"] - read
        if left <= 0:
            raise LimitReached("tokens", self.limits.tokens)
        return left

    def after_tokens(self, tokens: int) -> None:
        """The model has read and written that many."""
        self.spent["tokens"] += tokens

    def record(self) -> dict[str, dict[str, float]]:
        """Spent and limits as JSON data."""
        return {"spent": {**self.spent, "seconds": round(self.seconds, 3)}, "limits": asdict(self.limits)}

    def _take(self, name: str, limit: int) -> None:
        if self.spent[name] >= limit:
            raise LimitReached(name, limit)
        self.spent[name] += 1
