"""The interceptor as `model.generate(**inputs, custom_generate=interceptor)`.

Hugging Face resolves the generation config, the logits processors (temperature, top-k, top-p, repetition penalty, ...)
and the stopping criteria; the interceptor runs the loop. Every row draws from its own stream, keyed by the
interceptor's seed and the row's index. Not for training, beams or encoder-decoder models.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria, MaxTimeCriteria
from transformers.generation.utils import GenerateDecoderOnlyOutput

from toolkit.decoding.request import Limits, Request
from toolkit.decoding.row import Row
from toolkit.decoding.sampler import draw
from toolkit.errors import UserError

if TYPE_CHECKING:
    from toolkit.decoding.interceptor import Interceptor


def generate(
    interceptor: Interceptor,
    model: Any,
    input_ids: torch.Tensor,
    processors: Any,
    criteria: Any,
    config: Any,
    mask: torch.Tensor | None,
    seed: int | None,
) -> Any:
    """Sequences [rows, longest] with the padded prompts in front, or an output object when the config asks for one.

    `max_new_tokens` counts model-written tokens; injected ones come on top. `seed` is drawn anew when None, so that two
    calls differ as `generate`'s own do. Raises UserError for another model than the interceptor's, for beams, and for
    stopping criteria beyond length, end token and time.
    """
    if model is not interceptor.engine.model:
        raise UserError("custom_generate was given another model", "generate", "make an Interceptor for this model")
    if config.num_beams not in (None, 1):
        raise UserError("beam search cannot be intercepted", "generate", "set num_beams=1")
    for criterion in criteria or ():
        if not isinstance(criterion, MaxLengthCriteria | EosTokenCriteria | MaxTimeCriteria):
            raise UserError(
                f"{type(criterion).__name__} is not applied to intercepted rows",
                where="generate",
                fix="use Interceptor.run and Request.stop",
            )
    limits = Limits(config.max_length - input_ids.shape[1], seconds=config.max_time)
    requests = _requests(input_ids, mask, limits, secrets.randbits(32) if seed is None else seed)
    chooser = _Chooser(input_ids, processors, bool(config.do_sample))
    ends = config.eos_token_id
    ends = frozenset(ends if isinstance(ends, list) else [ends]) - {None}
    replies = {reply.id: reply.ids for reply in interceptor.run(requests, chooser, ends)}
    written = [replies[request.id] for request in requests]
    width = max(len(ids) for ids in written)
    pad = config.pad_token_id if config.pad_token_id is not None else min(ends, default=0)
    tail = torch.tensor([ids + [pad] * (width - len(ids)) for ids in written], dtype=torch.long)
    sequences = torch.cat((input_ids, tail.to(input_ids.device)), dim=1)
    if config.return_dict_in_generate:
        return GenerateDecoderOnlyOutput(sequences=cast(torch.LongTensor, sequences))
    return sequences


def _requests(input_ids: torch.Tensor, mask: torch.Tensor | None, limits: Limits, seed: int) -> list[Request]:
    """One request per row; left padding is taken off, since positions and caches here have none."""
    rows = [row if mask is None else row[mask[index].bool()] for index, row in enumerate(input_ids)]
    return [Request(str(index), row.tolist(), seed=seed, limits=limits, stop=()) for index, row in enumerate(rows)]


class _Chooser:
    """Next tokens by Hugging Face's processors, some of which hold state for each row of the whole batch.

    Rows differ in length here, so the processors see the batch once per length that occurs, each time with the rows of
    that length in their places.
    """

    def __init__(self, input_ids: torch.Tensor, processors: Any, sampled: bool) -> None:
        self._prompts, self._processors, self._sampled = input_ids, processors, sampled

    def __call__(self, logits: torch.Tensor, rows: Sequence[Row]) -> list[int]:
        scores = logits.float()
        for length in {len(row.ids) for row in rows} if self._processors else ():
            members = [n for n, row in enumerate(rows) if len(row.ids) == length]
            places = [int(rows[n].request.id) for n in members]
            ids = self._prompts.new_zeros(len(self._prompts), self._prompts.shape[1] + length)
            ids[:, : self._prompts.shape[1]] = self._prompts
            ids[places, self._prompts.shape[1] :] = ids.new_tensor([rows[n].ids for n in members])
            batch = scores.new_zeros(len(self._prompts), scores.shape[1])
            batch[places] = scores[members]
            scores[members] = self._processors(ids, batch)[places].to(scores)
        if not self._sampled:
            return [int(token) for token in scores.argmax(dim=-1)]
        return [int(token) for token in draw(scores, [row.stream.uniform() for row in rows])]
