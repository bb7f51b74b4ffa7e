"""Asks the model one question for a module: builds the prompt, reads the answer, lets the model mend it, records all.

Every module of the planner talks to the model through here, so that token and time limits, the trace and the repair
of unusable answers are in one place. Knows nothing of what the modules ask.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import yaml

from toolkit.models.completion import Completion, CompletionModel, Limits, ModelError, Prompt, Schema
from toolkit.restgpt.budget import Budget
from toolkit.restgpt.safe_json import parse_json
from toolkit.restgpt.trace import Trace, fingerprint

Answer = TypeVar("Answer")
Parsed = TypeVar("Parsed")
LONGEST_ANSWER = 16_000
SECONDS_PER_QUESTION = 300.0
MOST_BRACKETS = 500
_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\r?\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


class Unusable(Exception):
    """An answer cannot be used; the text says why, in words that help the model to do better."""


class NoAnswer(Exception):
    """A module got no usable answer from the model, repairs included."""

    def __init__(self, module: str, reason: str) -> None:
        self.module, self.reason = module, reason
        super().__init__(f"the {module} got no usable answer from the model ({reason})")


@dataclass(frozen=True)
class Module:
    """A module's prompt as its data file has it: what it must do, and worked examples."""

    name: str
    fixed: str

    @classmethod
    @cache
    def load(cls, name: str) -> Module:
        """Read `prompts/NAME.yaml` (keys `instructions` and `examples`, a list of `situation` and `answer`)."""
        data = yaml.safe_load((files("toolkit.restgpt") / "prompts" / f"{name}.yaml").read_text("utf-8"))
        parts = [data["instructions"].strip()]
        for number, example in enumerate(data["examples"], 1):
            answer = example["answer"]
            text = answer.strip() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            parts.append(f"Example {number}\n{example['situation'].strip()}\nAnswer:\n{text}")
        return cls(name, "\n\n".join(parts))


class Asker:
    """The model as the modules see it."""

    def __init__(self, model: CompletionModel, trace: Trace, budget: Budget, repairs: int = 2) -> None:
        self.model = model
        self._trace = trace
        self._budget = budget
        self._repairs = repairs

    def room(self, share: float) -> int:
        """Tokens that make up a share of the model's context; modules size what they show by it."""
        return int(self.model.context * share)

    def shorten(self, text: str, tokens: int) -> str:
        """The text, cut at the end when it has more tokens, and saying so."""
        size = self.model.count(text)
        if size <= tokens:
            return text
        kept = text[: max(1, int(len(text) * tokens / size))]
        return f"{kept.rstrip()} ... (cut, {size} tokens in all)"

    def ask(
        self,
        module: Module,
        situation: str,
        read: Callable[[Any], Answer],
        schema: dict[str, Any],
        known: str = "",
        tokens: int = 512,
    ) -> Answer:
        """One JSON object from the model, as `read` understands it.

        `known` is text of the run that does not change (the endpoint list) and belongs to the fixed part. `read`
        raises `Unusable` to have the model try again. Raises `NoAnswer`, `LimitReached` or `ModelError`.
        """
        return self._converse(module, situation, read_json, read, Schema(strict(schema)), known, tokens)

    def ask_text(self, module: Module, situation: str, read: Callable[[str], Answer], tokens: int = 512) -> Answer:
        """The same for free text (program code)."""
        return self._converse(module, situation, str, read, None, "", tokens)

    def _converse(
        self,
        module: Module,
        situation: str,
        parse: Callable[[str], Parsed],
        read: Callable[[Parsed], Answer],
        shape: Schema | None,
        known: str,
        tokens: int,
    ) -> Answer:
        """Ask, read, and while the answer is unusable show it with the reason and ask again."""
        fixed = f"{module.fixed}\n\n{known}".rstrip() + "\n\nNow it is your turn.\n"
        rest, reason = f"{situation.strip()}\nAnswer:\n", ""
        for attempt in range(1 + self._repairs):
            completion, event = self._complete(module.name, Prompt(encodable(fixed), encodable(rest)), tokens, shape)
            try:
                parsed = parse(completion.text[:LONGEST_ANSWER])
                event["parsed"] = parsed if shape else None
                answer = read(parsed)
            except Unusable as problem:
                reason = "it was cut, be shorter" if completion.finish == "length" else str(problem)
                event["unusable"] = reason
                shown = self.shorten(completion.text.strip(), 200)
                rest = f"{situation.strip()}\n\nYour answer {attempt + 1} was:\n{shown}\n"
                rest += f"It cannot be used: {reason}\nAnswer:\n"
            else:
                return answer
        raise NoAnswer(module.name, reason)

    def _complete(
        self, module: str, prompt: Prompt, tokens: int, shape: Schema | None
    ) -> tuple[Completion, dict[str, Any]]:
        """One completion, counted and recorded; the record's data is returned so that the reading can be noted."""
        size = self.model.count(prompt.text)
        tokens = min(tokens, self._budget.tokens_left(size))
        limits = Limits(tokens, min(SECONDS_PER_QUESTION, self._budget.seconds_left))
        began = time.monotonic()
        try:
            completion = self.model.complete([prompt], (), limits, shape)[0]
        except ModelError:
            _ = self._budget.seconds_left  # raises when it was our own time that ran out
            raise
        usage = completion.usage
        read = size if usage.prompt is None else usage.prompt
        written = self.model.count(completion.text) if usage.written is None else usage.written
        self._budget.after_tokens(read + written)
        event = self._trace.add(
            "model",
            module=module,
            prompt=fingerprint(prompt.text),
            fixed=self._trace.keep(prompt.fixed),
            rest=prompt.rest,
            text=completion.text,
            finish=completion.finish,
            shaped=completion.shaped,
            tokens={"read": usage.prompt, "written": usage.written},
            took=round(time.monotonic() - began, 3),
        )
        return completion, event


def encodable(text: str) -> str:
    """The text without lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """An object schema that allows no other fields (unless it says otherwise)."""
    return {"type": "object", "additionalProperties": False, **schema}


def prose(characters: int) -> dict[str, Any]:
    """The schema of a text field. Bounded, since small models under a grammar repeat themselves until they are cut."""
    return {"type": "string", "maxLength": characters}


def read_json(text: str) -> dict[str, Any]:
    """The JSON object in a model's text: bare, fenced, or with words around it; mended when nearly JSON.

    Raises `Unusable` when there is none.
    """
    import json_repair

    bare = text.rpartition("</think>")[2]
    start = bare.find("{")
    if start < 0:
        raise Unusable("it has no JSON object")
    if bare.count("{") + bare.count("[") > MOST_BRACKETS:  # mending takes time with their square
        raise Unusable("it has too many brackets")
    try:
        try:
            value, _ = json.JSONDecoder().raw_decode(bare, start)
        except ValueError:
            end = bare.rfind("}")
            value = json_repair.loads(bare[start : end + 1 if end > start else None])
        value = parse_json(json.dumps(value))  # without NaN, infinity and lone surrogates
    except (RecursionError, ValueError):
        raise Unusable("it is nested too deeply") from None
    if not isinstance(value, dict) or not value:
        raise Unusable("it is not a JSON object")
    return value


def without_fence(text: str) -> str:
    """The first fenced block if there is one, else the text; what a thinking model wrote before it is dropped."""
    answer = text.rpartition("</think>")[2]
    fenced = _FENCE.search(answer)
    return fenced[1] if fenced else answer.strip()


def text_field(data: dict[str, Any], name: str) -> str:
    """A text of a JSON object. Raises `Unusable` when it is missing, empty or something else."""
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unusable(f'the field "{name}" must be a text that is not empty')
    return value.strip()
