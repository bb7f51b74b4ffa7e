"""Training exchanges made from a plugin's examples: fresh operands, paraphrased questions, results from its own tools.

An example is a template: whole numbers that stand in its call's arguments are operands wherever they stand in the
exchange. Knows plugins and tools; knows nothing of tokens, models or which operators are held out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from random import Random

import yaml

from toolkit.errors import UserError
from toolkit.plugins.examples import ExampleCall, parse_answer
from toolkit.plugins.plugin import LocalPlugin, toolbox_of
from toolkit.tools.toolbox import Toolbox

NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")
BETWEEN = re.compile(r"\s*-?\d+\s*(\S{1,3}?)\s*-?\d+\s*")
# Questions that ask the same, around an expression or around a whole question (ours).
FRAMES = ("What is {}?", "Compute {}.", "How much is {}?", "Please calculate {}.", "{} = ?", "Can you work out {}?")
MANNERS = ("{}", "{}", "Please tell me: {}", "I would like to know: {}", "{} Thank you.")


@dataclass(frozen=True)
class Exchange:
    """One question with its answer in the arrow syntax. `operator` and `api` are None where nothing is called."""

    question: str
    answer: str
    operator: str | None = None
    api: str | None = None


def operator_of(call: ExampleCall) -> str:
    """What stands between the two numbers of the call's arguments, else the API's name."""
    match = BETWEEN.fullmatch(call.arguments)
    return match.group(1) if match else call.name


@dataclass(frozen=True)
class Template:
    """An example to make exchanges from. `pieces` are the parts of its answer; one of them at least is a call."""

    question: str
    pieces: tuple[str | ExampleCall, ...]
    toolbox: Toolbox

    @property
    def call(self) -> ExampleCall:
        """The first call, which names operator and API."""
        return next(piece for piece in self.pieces if isinstance(piece, ExampleCall))

    @property
    def operator(self) -> str:
        """The operator that exchanges of this template show."""
        return operator_of(self.call)

    def draw(self, rng: Random, low: int, high: int) -> Exchange:
        """An exchange with operands from `low` to `high` and a paraphrased question.

        Results come from the tool where an operand changed. UserError when the tool fails on every draw.
        """
        names = sorted(
            {number for piece in self.pieces if isinstance(piece, ExampleCall) for number in _numbers(piece)}
        )
        for _ in range(50):
            values = {name: str(rng.randint(low, high)) for name in names}
            answer = self._answer(values)
            if answer is not None:
                return Exchange(self._question(values, rng), answer, self.operator, self.call.name)
        raise UserError(
            f"{self.call.name} gives no result for any operands from {low} to {high}",
            f"example {self.question!r}",
            "give the plugin's tool, or another range",
        )

    def _question(self, values: dict[str, str], rng: Random) -> str:
        question, arguments = _filled(self.question, values), _filled(self.call.arguments, values)
        if values and question == FRAMES[0].format(arguments):
            return FRAMES[rng.randrange(len(FRAMES))].format(arguments)
        return MANNERS[rng.randrange(len(MANNERS))].format(question)

    def _answer(self, values: dict[str, str]) -> str | None:
        """The answer with operands and results in place; None when a call has no result."""
        answer, results = "", dict[str, str]()
        for piece in self.pieces:
            if isinstance(piece, str):
                answer += _replaced(piece, results, values)
                continue
            arguments, result = _filled(piece.arguments, values), piece.result
            if values and result is not None:
                outcome = self.toolbox.run(piece.name, arguments)
                if not outcome.ok:
                    return None
                results[result] = outcome.text
                result = outcome.text
            answer += f"[{piece.name}({arguments}){'' if result is None else f' -> {result}'}]"
        return answer


def _numbers(call: ExampleCall) -> list[str]:
    return NUMBER.findall(call.arguments)


def _filled(text: str, values: dict[str, str]) -> str:
    """The text with each operand replaced by its value."""
    return NUMBER.sub(lambda match: values.get(match.group(), match.group()), text)


def _replaced(text: str, results: dict[str, str], values: dict[str, str]) -> str:
    """Text of an answer with results of the calls before it and operands replaced, in one pass."""
    table = values | results
    if not table:
        return text
    longest = sorted(table, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(key)}(?!\w)" for key in longest))
    return pattern.sub(lambda match: table[match.group()], text)


def templates(plugins: Sequence[LocalPlugin]) -> list[Template]:
    """Every example with a call, in the order of the manifests."""
    found: list[Template] = []
    for plugin in plugins:
        toolbox = toolbox_of(plugin.manifest.apis, plugin.tools)
        for api in plugin.manifest.apis.values():
            for question, answer in api.examples:
                pieces = tuple(parse_answer(answer))
                if any(isinstance(piece, ExampleCall) for piece in pieces):
                    found.append(Template(question, pieces, toolbox))
    return found


def plain(name: str = "plain") -> list[Exchange]:
    """Our exchanges that need no tool, from `data/<name>.yaml`: templates with rows, filled in."""
    text = (resources.files("toolkit.tuning") / "data" / f"{name}.yaml").read_text(encoding="utf-8")
    return list(_plain(yaml.safe_load(text)))


def _plain(groups: list[dict[str, object]]) -> Iterator[Exchange]:
    for group in groups:
        for row in group["rows"]:  # type: ignore[attr-defined]
            question, answer = (
                str(group[key]).replace("{a}", row[0]).replace("{b}", row[-1]) for key in ("ask", "say")
            )
            yield Exchange(question, answer)
