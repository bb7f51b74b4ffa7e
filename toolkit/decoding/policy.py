"""Which of the original's behaviours a run keeps: the `strict` and the `paper` policy as data.

The rows of protocol faults F2-F6 that move the published numbers are switched here and nowhere else. This file knows
nothing of how they are carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

OnFailure = Literal["inject", "continue", "end"]


@dataclass(frozen=True)
class Policy:
    """How calls are recognised and what a failed call does.

    `first_only`: only the first `[`, `(` and `)` of a segment may form a call (the original's parser).
    `segment_budget`: the token budget restarts after each call; a segment without a call ends the reply.
    `on_failure`: write the error text into the bracket, go on as if nothing had been intercepted, or end the row.
    `retokenise`: after a call the whole reply is encoded anew, as the original did by re-encoding its context.
    """

    name: str
    first_only: bool = False
    segment_budget: bool = False
    on_failure: OnFailure = "inject"
    retokenise: bool = False

    def with_failure(self, on_failure: OnFailure) -> Policy:
        """The same policy with another treatment of failed calls."""
        return replace(self, on_failure=on_failure)


STRICT = Policy("strict")
PAPER = Policy("paper", first_only=True, segment_budget=True, on_failure="continue", retokenise=True)
