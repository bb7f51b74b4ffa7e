"""What goes into the interceptor and what comes out: requests, limits, sampling settings, replies.

Plain data. This file knows nothing of models, tensors or tools beyond their outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from toolkit.tools.outcome import Outcome, Turn

if TYPE_CHECKING:
    from toolkit.decoding.constraint import Constraint
    from toolkit.decoding.prefix import Prefix

Finish = Literal["stop", "eos", "tokens", "calls", "context", "time", "tool"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one row.

    `model_tokens` counts tokens that the model wrote (injected ones are free; under a `paper` policy it is the budget
    of one segment). `context` is the number of positions, prefix and injected tokens included, and defaults to the
    model's own. `seconds` is wall time from admission. `result_tokens` caps one injected result.
    """

    model_tokens: int = 48
    calls: int = 4
    context: int | None = None
    seconds: float | None = None
    result_tokens: int = 64


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn. `temperature` None is greedy; `top_k` and `top_p` None mean no cut."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None


GREEDY = Sampling()


@dataclass(frozen=True)
class Request:
    """One row to decode: `prompt` token ids after an optional shared `prefix`.

    `seed` and `id` together key the row's random stream, so the same request gives the same text in any company.
    `constraint` makes the row's grammar state; it is called anew if the row has to be decoded again.
    """

    id: str
    prompt: Sequence[int]
    prefix: Prefix | None = None
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    sampling: Sampling = GREEDY
    stop: tuple[str, ...] = ("\n",)
    history: tuple[Turn, ...] = ()
    constraint: Callable[[], Constraint] | None = None


@dataclass(frozen=True)
class CallRecord:
    """One intercepted call. `start` and `end` are byte offsets of `[NAME(arguments)` in the whole reply."""

    name: str
    arguments: str
    outcome: Outcome
    start: int
    end: int


@dataclass(frozen=True)
class Reply:
    """A finished row: token `ids`, `source` (1 model-written, 0 injected) of the same length, `text` cut before the
    stop string, the calls, and why it ended.
    """

    id: str
    ids: list[int]
    source: list[int]
    text: str
    calls: list[CallRecord]
    finish: Finish
