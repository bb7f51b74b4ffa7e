"""How a call is written, as data: the marks around a call, its arguments and its result.

A syntax holds no code that depends on which syntax it is; the scanner, the compiler and the injector read the marks.
This file knows nothing of tools, models or tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Syntax:
    """The marks of `opener NAME args_open ARGUMENTS args_close result RESULT closer`, e.g. `[MATH(1 + 2) -> 3]`.

    `arguments` says how they are delimited: `balanced` up to the `args_close` that matches (nested `args_open` and
    quoted strings are skipped), `line` up to the next `args_close` whatever comes before it, or `json`, one object that
    needs no closing mark. `name_in` is `json` when the object also holds the name (under "name", the arguments under
    `arguments_key`); then there is no `args_open`. `blanks` are characters that may stand around the name and before
    an object, and may be missing at the end of `opener` and `args_open`. An API of ours takes one string: an object
    whose only key is `text_key` stands for that string.

    `unanswered` closes a call that has no result; None means `closer`.
    """

    name: str
    opener: str
    args_open: str
    args_close: str
    result: str
    closer: str
    arguments: Literal["balanced", "line", "json"] = "balanced"
    name_in: Literal["front", "json"] = "front"
    blanks: str = ""
    arguments_key: str = "arguments"
    text_key: str = "input"
    unanswered: str | None = None

    def call(self, name: str, arguments: str) -> str:
        """The part that a model writes: `[MATH(5 * 3)`."""
        if self.arguments != "json":
            return f"{self.opener}{name}{self.args_open}{arguments}{self.args_close}"
        if self.name_in == "front":
            return f"{self.opener}{name}{self.args_open}{_json(self._object(arguments))}"
        return f"{self.opener}{_json({'name': name, self.arguments_key: self._object(arguments)})}"

    def injection(self, result: str) -> str:
        """The part that the toolkit writes: ` -> 15]`."""
        return f"{self.result}{result}{self.closer}"

    def silent(self) -> str:
        """What closes a call that has no result: `]`."""
        return self.closer if self.unanswered is None else self.unanswered

    def _object(self, arguments: str) -> dict[str, object]:
        """The arguments as an object: themselves if they are written as one, else under `text_key`."""
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
        return {self.text_key: arguments} if arguments else {}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


ARROW = Syntax("arrow", "[", "(", ")", " -> ", "]")
EQUALS = Syntax("equals", "[", "(", ")", "=", "]")

# The chat formats of model families. A chat template renders the turns; these marks are the ones inside a reply, from
# the call to where the model goes on. Special tokens are written as text, so an injection is encoded with them parsed.
HERMES = Syntax(  # Nous Hermes 2 Pro and Qwen 2.5/3, ChatML: <tool_call> and <tool_response>
    "hermes",
    opener="<tool_call>\n",
    args_open="",
    args_close="",
    result="\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n",
    closer="\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    arguments="json",
    name_in="json",
    blanks=" \n",
    unanswered="\n</tool_call><|im_end|>\n<|im_start|>assistant\n",
)
LLAMA3 = Syntax(  # Llama 3.1 and later, JSON based tool calling: the whole message is the object
    "llama3",
    opener="",
    args_open="",
    args_close="",
    result="<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n",
    closer="<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    arguments="json",
    name_in="json",
    arguments_key="parameters",
    unanswered="<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
)
MISTRAL = Syntax(  # Mistral 7B v0.3 to Nemo (tokenizers v3): a list of objects after [TOOL_CALLS]
    "mistral",
    opener="[TOOL_CALLS] [",
    args_open="",
    args_close="",
    result="]</s>[TOOL_RESULTS] ",
    closer="[/TOOL_RESULTS]",
    arguments="json",
    name_in="json",
    blanks=" \n[",
    unanswered="]</s>",
)
MISTRAL_ARGS = Syntax(  # Mistral Small 3.2 and later (tokenizers v11 and later): the name in front of [ARGS]
    "mistral-args",
    opener="[TOOL_CALLS]",
    args_open="[ARGS]",
    args_close="",
    result="</s>[TOOL_RESULTS]",
    closer="[/TOOL_RESULTS]",
    arguments="json",
    blanks=" \n",
    unanswered="</s>",
)
REACT = Syntax(  # ReAct prompts: Thought, Action, Action Input, Observation, each on its line
    "react",
    opener="Action: ",
    args_open="\nAction Input: ",
    args_close="\n",
    result="Observation: ",
    closer="\n",
    arguments="line",
    blanks=" ",
    unanswered="",
)
SYNTAXES = {syntax.name: syntax for syntax in (ARROW, EQUALS, HERMES, LLAMA3, MISTRAL, MISTRAL_ARGS, REACT)}
