"""A local Hugging Face model as a completion back end, run by the interceptor's engine with no tools.

The fixed part of a prompt becomes a `Prefix`, computed once and kept by its text; a shape becomes a token mask. Chat
models get the fixed part as the system message and the rest as the user's. Knows nothing of what prompts are about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from itertools import count

import torch
from jinja2 import TemplateError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from toolkit.calls.syntax import ARROW
from toolkit.decoding.interceptor import Interceptor
from toolkit.decoding.policy import STRICT
from toolkit.decoding.prefix import Prefix
from toolkit.decoding.request import Finish as RowFinish
from toolkit.decoding.request import Limits as RowLimits
from toolkit.decoding.request import Reply, Request
from toolkit.models.completion import Completion, Finish, Limits, ModelError, Prompt, Shape, Usage
from toolkit.models.load import ModelSpec, load
from toolkit.models.structured import Grammars
from toolkit.tools.toolbox import Toolbox

KEPT_PREFIXES = 8
_FINISH: dict[RowFinish, Finish] = {"eos": "stop", "stop": "stop", "tokens": "length", "context": "length"}
# Text that happens to look like a call is text here: go on as if nothing had been intercepted.
_NO_CALLS = STRICT.with_failure("continue")
_ANY_CALLS = 1_000_000


class LocalModel:
    """`complete` decodes greedily; the same prompts give the same texts."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, context: int | None = None
    ) -> None:
        self.name = name
        self.context = context or int(model.config.max_position_embeddings)
        self._tokenizer = tokenizer
        self._vocabulary = int(model.config.vocab_size)
        self._engine = Interceptor(model, tokenizer, Toolbox({}), ARROW, _NO_CALLS)
        self._grammars: Grammars | None = None
        self._prefixes: OrderedDict[str, Prefix] = OrderedDict()
        self._number = count()

    @classmethod
    def load(cls, path: str, context: int | None = None) -> LocalModel:
        """Load a bundled model, a folder, a GGUF file or a hub id. Raises `UserError` when there is none."""
        model, tokenizer = load(ModelSpec(name=path, path=path))
        return cls(model, tokenizer, path, context)

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        """All prompts in one batch. Raises `ModelError` when a prompt leaves no room for the answer."""
        requests: dict[str, Request] = {}
        sizes: dict[str, int] = {}
        for prompt in prompts:
            request, size = self._request(prompt, tuple(stop), limits, shape)
            requests[request.id], sizes[request.id] = request, size
        try:
            replies = {reply.id: reply for reply in self._engine.run(requests.values())}
        except torch.OutOfMemoryError:
            raise ModelError(f"{self.name} ran out of memory; allow it less with --context") from None
        return [_completion(replies[key], sizes[key], shape is not None) for key in requests]

    def count(self, text: str) -> int:
        """Tokens of a text, exactly."""
        return len(self._encode(text))

    def _request(
        self, prompt: Prompt, stop: tuple[str, ...], limits: Limits, shape: Shape | None
    ) -> tuple[Request, int]:
        """The engine's request for a prompt, and the number of prompt tokens."""
        head, tail = self._render(prompt)
        prefix = self._prefix(head)
        ids = self._encode(tail)
        size = len(ids) + (prefix.length if prefix else 0)
        if size >= self.context:
            raise ModelError(f"the prompt has {size} tokens and {self.name} takes {self.context} in all")
        if shape is not None and self._grammars is None:
            self._grammars = Grammars(self._tokenizer, self._vocabulary)
        constraint = partial(self._grammars.constraint, shape) if shape is not None and self._grammars else None
        row = RowLimits(limits.tokens, _ANY_CALLS, self.context, limits.seconds)
        name = f"{next(self._number)}"
        return Request(name, ids, prefix, limits=row, stop=stop, constraint=constraint), size

    def _prefix(self, text: str) -> Prefix | None:
        """The keys and values of a fixed part, None for an empty one; the least recently used one makes room."""
        if text not in self._prefixes:
            ids = self._encode(text, special=not self._tokenizer.chat_template)
            if len(ids) >= self.context:
                raise ModelError(f"the fixed prompt has {len(ids)} tokens and {self.name} takes {self.context} in all")
            if not ids:
                return None
            self._prefixes[text] = self._engine.prefix(ids)
            while len(self._prefixes) > KEPT_PREFIXES:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(text)
        return self._prefixes[text]

    def _render(self, prompt: Prompt) -> tuple[str, str]:
        """(fixed part, rest) as the model reads them: through its chat template when it has one."""
        if not self._tokenizer.chat_template:
            return self._defused(prompt.fixed), self._defused(prompt.rest)
        fixed, rest = self._defused(prompt.fixed).strip(), self._defused(prompt.rest).strip()
        try:
            text = self._template([{"role": "system", "content": fixed}, {"role": "user", "content": rest}])
        except TemplateError:  # some templates know no system message
            text = self._template([{"role": "user", "content": f"{fixed}\n\n{rest}"}])
        cut = text.index(fixed) + len(fixed)
        return text[:cut], text[cut:]

    def _defused(self, text: str) -> str:
        """The text with control tokens written as words: what a service says must not end the user's turn."""
        for mark in self._tokenizer.all_special_tokens:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        return text

    def _template(self, messages: list[dict[str, str]]) -> str:
        rendered = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return str(rendered)

    def _encode(self, text: str, special: bool = False) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=special)["input_ids"])


def _completion(reply: Reply, prompt_tokens: int, shaped: bool) -> Completion:
    """An engine's reply as a completion."""
    usage = Usage(prompt_tokens, len(reply.ids))
    return Completion(reply.text, tuple(reply.ids), usage, _FINISH.get(reply.finish, "time"), shaped)
