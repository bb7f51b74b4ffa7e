"""A model that replays written replies: for tests, examples and documentation that must run without a model.

The file is a JSON list. An entry is a reply, or `{"when": "words of the prompt", "reply": ...}`; a reply that is not
a string is written as JSON. Each entry is used once: the first unused one whose words occur in the prompt. Knows
nothing of what is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolkit.errors import UserError
from toolkit.models.completion import Completion, Limits, ModelError, Prompt, Shape, Usage, cut_before

CONTEXT = 16_384
CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """Replays `entries`; `prompts` keeps what it was asked, in order."""

    def __init__(self, entries: Sequence[Any], name: str = "scripted", context: int = CONTEXT) -> None:
        self.name = name
        self.context = context
        self.prompts: list[Prompt] = []
        self._unused = [_entry(entry, index) for index, entry in enumerate(entries)]

    @classmethod
    def load(cls, path: str) -> ScriptedModel:
        """Read a script. Raises `UserError` when the file is missing or is no JSON list."""
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read the script: {error}", path, "give a JSON list of replies") from error
        if not isinstance(entries, list):
            raise UserError("a script is a JSON list of replies", path)
        return cls(entries, name=f"scripted:{Path(path).name}")

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        """The next fitting reply for each prompt; the shape is not enforced. Raises `ModelError` when none is left."""
        return [self._reply(prompt, stop, limits) for prompt in prompts]

    def count(self, text: str) -> int:
        """A fixed number of characters per token, so that budgets are the same everywhere."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    def _reply(self, prompt: Prompt, stop: Sequence[str], limits: Limits) -> Completion:
        self.prompts.append(prompt)
        for index, (when, text) in enumerate(self._unused):
            if when in prompt.text:
                del self._unused[index]
                cut = cut_before(text, stop)
                kept = cut[: limits.tokens * CHARACTERS_PER_TOKEN]
                usage = Usage(self.count(prompt.text), self.count(kept))
                return Completion(kept, None, usage, "stop" if kept == cut else "length")
        raise ModelError(f"the script has no reply left for the prompt that ends {prompt.text[-120:]!r}")


def _entry(entry: Any, index: int) -> tuple[str, str]:
    """(words to look for, text to reply) of one entry of a script."""
    when, reply = "", entry
    if isinstance(entry, dict) and "reply" in entry:
        when, reply = entry.get("when", ""), entry["reply"]
    if not isinstance(when, str):
        raise UserError(f"`when` of entry {index} of the script is not a text")
    return when, reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
