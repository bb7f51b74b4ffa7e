"""Forward passes of one model over slots and shared prefixes: tokens in, next-token logits out.

The engine knows layouts and tensors and nothing of calls, stop strings or sampling. On construction it compares itself
with the model's own forward pass and refuses a model that it cannot decode exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from toolkit.decoding.attention import attached, reaches_every_layer
from toolkit.decoding.memory import bytes_per_row, slots_that_fit
from toolkit.decoding.prefix import Prefix
from toolkit.decoding.slots import Slots
from toolkit.decoding.step import Feed, Step
from toolkit.errors import RunError, UserError

# Largest difference between logits of the two passes that counts as equal, relative to the largest logit.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 8e-2}
CPU = torch.device("cpu")
PREFILL = 512  # positions of a prefix that are computed in one pass


class Engine:
    """Decodes with `model` (any causal LM of transformers' attention interface, or GPT-Neo) in at most `slots` slots.

    With `memory`, a share of the free device memory, there are only as many slots as fit into it. Raises UserError
    when the model is of another kind or when its logits differ from its own forward pass.
    """

    def __init__(self, model: Any, slots: int, memory: float | None = None) -> None:
        self.model = model
        self.device: torch.device = model.get_input_embeddings().weight.device
        self.spread = len(set(getattr(model, "hf_device_map", {}).values())) > 1  # logits may then arise on any device
        self.positions: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if not reaches_every_layer(model):
            raise UserError(
                f"{type(model).__name__} does not offer transformers' attention interface",
                where="model",
                fix="use GPT-Neo, Llama, Qwen, Gemma, Mistral, GPT-2, GPT-NeoX or another model that does",
            )
        self.row_bytes = bytes_per_row(self._check(), model.get_input_embeddings().weight.shape[0])
        if memory is not None:
            slots = slots_that_fit(memory, self.device, self.row_bytes, slots)
        self.slots = Slots(slots)

    @torch.inference_mode()
    def forward(self, feeds: Sequence[Feed]) -> tuple[list[int], torch.Tensor]:
        """Feed tokens; the slots that want logits, in the order of the rows of the logits [slots, vocabulary]."""
        self.slots.reserve(max(feed.start + len(feed.tokens) for feed in feeds))
        step = Step(self.slots, feeds, self.device)
        logits = self._pass(step, {"input_ids": step.ids.unsqueeze(0)})
        return step.logits_rows, logits[0]

    def _pass(self, step: Step, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        with attached(self.model, step):
            out = self.model(
                **inputs,
                position_ids=step.positions.unsqueeze(0),
                use_cache=False,
                logits_to_keep=(step.on(CPU) if self.spread else step).logits_index,
                return_dict=True,
            )
        logits: torch.Tensor = out.logits
        return logits

    def prefix(self, ids: Sequence[int], after: Prefix | None = None) -> Prefix:
        """The prefix that stands for token `ids` (after another one, if given). Computed once, at batch 1."""
        rows = torch.tensor(list(ids), dtype=torch.long, device=self.device)
        embedded = self._extend("input_ids", rows, after)
        return Prefix(embedded, list(ids)) if after is None else after.then(embedded, list(ids))

    def prefix_from_embeddings(self, embeddings: torch.Tensor, after: Prefix | None = None) -> Prefix:
        """The prefix of a soft prompt: `embeddings` [length, hidden]."""
        model_type = self.model.get_input_embeddings().weight
        layers = self._extend("inputs_embeds", embeddings.to(model_type.device, model_type.dtype), after)
        return Prefix(layers) if after is None else after.then(layers)

    @torch.inference_mode()
    def _extend(self, name: str, rows: torch.Tensor, after: Prefix | None) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Keys and values of `rows` [length] or [length, hidden] as they follow `after`."""
        if not len(rows):
            raise ValueError("a prefix needs at least one position")
        slots = Slots(1, len(rows))
        for start in range(0, len(rows), PREFILL):
            part = rows[start : start + PREFILL]
            feed = Feed(0, start, [0] * len(part), after, wants_logits=False)
            self._pass(Step(slots, [feed], self.device), {name: part.unsqueeze(0)})
        return slots.export(0, len(rows))

    def halve(self) -> None:
        """Give up half of the slots and all that they hold, after memory ran out."""
        count = self.slots.count // 2
        if not count:
            raise RunError("not even one row fits into memory; use a smaller model, dtype or context")
        self.slots = Slots(count)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _check(self) -> int:
        """Compare a prefix, a chunk and single tokens with the model's own forward pass; bytes per position."""
        size = self.model.get_input_embeddings().weight.shape[0]
        ids = [(7919 * n + 13) % size for n in range(24)]
        prefix, slots = self.prefix(ids[:9]), Slots(2)
        got = []
        with torch.inference_mode():
            pieces = [(0, ids[9:19]), *((10 + n, [token]) for n, token in enumerate(ids[19:]))]
            for start, piece in pieces:
                feeds = [Feed(1, start, piece, prefix, True)]
                step = Step(slots, feeds, self.device)
                got.append(self._pass(step, {"input_ids": step.ids.unsqueeze(0)})[0, 0])
            own = self.model(input_ids=torch.tensor([ids], device=self.device), use_cache=False).logits[0, 18:]
        difference = float((torch.stack(got).float() - own.float()).abs().max())
        limit = TOLERANCE.get(own.dtype, 8e-2) * max(1.0, float(own.float().abs().max()))
        if not difference <= limit:
            raise UserError(
                f"shared-prefix decoding of {type(self.model).__name__} differs from its own forward pass by "
                f"{difference:.2g} (allowed {limit:.2g})",
                where="model",
                fix="this model cannot be decoded exactly here; please report its name",
            )
        return slots.bytes_per_position
