"""What a row of the decode loop asks of a grammar: which tokens may come next. Knows no grammar library and no model.

The loop calls `mask` before it picks a token of that row, leaves only the allowed tokens in play (greedy or sampled
alike), then calls `advance` with the token it picked. Tokens that the loop injects (tool results) are not advanced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


class Constraint(Protocol):
    """The grammar state of one row; made anew for each row, never shared."""

    def mask(self) -> torch.Tensor | None:
        """The tokens allowed next: bool, shape [vocabulary], on the CPU; None when every token is allowed.

        At least one token is always allowed: once the text is complete and nothing may follow, that is the
        end-of-sequence token alone.
        """
        ...

    def advance(self, token: int) -> None:
        """Take note of the token that was picked. It must be one that `mask` allowed."""
        ...
