"""What a tool is and what running one yields. Knows nothing of syntaxes, models or HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Status = Literal["ok", "error", "timeout", "refused", "unknown"]


@dataclass(frozen=True)
class Turn:
    """One turn of the conversation as a tool may see it. `role` is "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """The typed result of one call.

    `text` is the result when `status` is "ok" and a one-line reason otherwise. `seconds` is wall time, None when the
    tool was never started (unknown name, refused argument).
    """

    status: Status
    text: str
    seconds: float | None = None

    @property
    def ok(self) -> bool:
        """True when the tool produced a result."""
        return self.status == "ok"


class Tool(Protocol):
    """Something a call can run.

    `inline` tools are pure and fast (microseconds): the decode loop runs them in place. All others run off-thread
    with a deadline while other rows go on decoding. `run` returns failures as an Outcome; it should not raise, and
    one that does costs its own row only.
    """

    @property
    def name(self) -> str:
        """The API name the model writes."""
        ...

    @property
    def inline(self) -> bool:
        """Whether the tool may run inside the decode loop."""
        ...

    def run(self, arguments: str, history: Sequence[Turn]) -> Outcome:
        """Run the call. `history` holds the last turns the API asked for, oldest first."""
        ...
