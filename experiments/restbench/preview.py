"""The first prompt of a strategy, for `toolkit plan`: the strategy runs until it asks, and is stopped there.

No model is loaded: prompts are sized for the context that the configuration states, or for a usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.restbench.config import ORACLE, PlannerModel
from experiments.tokens import counter
from toolkit.models.completion import Completion, Limits, ModelError, Prompt, Shape
from toolkit.models.spec import ModelSpec
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.run import Agent
from toolkit.restgpt.spec import Spec

USUAL_CONTEXT = 8192
_CHARACTERS_PER_TOKEN = 4


class _Asked:
    """Keeps the first prompt and answers nothing."""

    name = "none"

    def __init__(self, context: int) -> None:
        self.context = context
        self.prompt = ""

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        self.prompt = prompts[0].text
        raise ModelError("the prompt is all that was wanted")

    def count(self, text: str) -> int:
        return -(-len(text) // _CHARACTERS_PER_TOKEN)


def first_prompt(
    spec: Spec, question: str, strategy: str, models: Sequence[PlannerModel]
) -> tuple[str, bool, dict[str, int | None]]:
    """(prompt, held out, its tokens by model); a count is None where the tokenizer is not on this machine."""
    asked = _Asked(models[0].context or USUAL_CONTEXT)
    with RestClient(spec) as client:
        Agent(spec, asked, client, strategy, dry_run=True).ask(question)
    counts = {model.name: count(asked.prompt) if (count := _counter(model)) else None for model in models}
    return asked.prompt, False, counts


def _counter(model: PlannerModel) -> Callable[[str], int] | None:
    if model.model == ORACLE or model.model.startswith(("openai:", "completions:", "scripted:")):
        return None
    count = counter(ModelSpec(name=model.name, path=model.model))
    return None if count is None else lambda text: count((), text)
