"""Skills written as data: a question template, an arguments template, and where the operands come from.

Covers arithmetic-like skills (operands from ranges, the truth computed) and table-like ones (operands from rows). A
template is text with `{operand}` in it; nothing else in it is ever interpreted. Knows nothing of YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from experiments.suites.suite import Exchange, Question
from toolkit.tools.arithmetic import evaluate
from toolkit.tools.outcome import Tool

FIELD = re.compile(r"\{(\w+)\}")
Operand = tuple[int, int] | tuple[str, ...]  # an inclusive range, or choices


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with each `{operand}` replaced; KeyError names an operand that is not there."""
    return FIELD.sub(lambda match: values[match.group(1)], template)


def fields(template: str) -> set[str]:
    """The operands that a template uses."""
    return set(FIELD.findall(template))


@dataclass(frozen=True)
class TemplateSkill:
    """A skill as data.

    The truth is, in this order: `truth` filled in, `compute` filled in and evaluated as arithmetic, or what `tool`
    answers to the right arguments. `rows` draws operands together; else each is drawn by itself in the order written.
    """

    name: str
    api: str
    example: Exchange
    question: str
    arguments: str
    operands: Mapping[str, Operand] = field(default_factory=dict)
    rows: Sequence[Mapping[str, str]] = ()
    truth: str | None = None
    compute: str | None = None
    tool: Tool | None = None

    def ask(self, rng: Random) -> Question:
        """Draw operands and fill the templates."""
        values = dict(self.rows[rng.randrange(len(self.rows))]) if self.rows else {}
        values |= {name: _draw(operand, rng) for name, operand in self.operands.items()}
        arguments = fill(self.arguments, values)
        return Question(fill(self.question, values), arguments, self._truth(values, arguments))

    def _truth(self, values: Mapping[str, str], arguments: str) -> str:
        if self.truth is not None:
            return fill(self.truth, values)
        if self.compute is not None:
            return evaluate(fill(self.compute, values))
        if self.tool is None:
            raise ValueError(f"skill {self.name} has neither a truth nor a tool that gives it")
        outcome = self.tool.run(arguments, ())
        if not outcome.ok:
            raise ValueError(f"skill {self.name}: {self.api}({arguments}) has no result: {outcome.text}")
        return outcome.text

    def read(self, arguments: str) -> str | None:
        """The arguments with blanks and signs normalised, when they have the form of the template."""
        match = self._form.fullmatch(arguments.strip())
        return None if match is None else fill(self.arguments, {k: _normal(v) for k, v in match.groupdict().items()})

    @cached_property
    def _form(self) -> re.Pattern[str]:
        """The arguments template as a regular expression that allows any blanks between its parts."""
        names, pattern = set(), ""
        for index, piece in enumerate(FIELD.split(self.arguments)):
            if index % 2 == 0:
                pattern += r"\s*".join(["", *(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", piece)), ""])
            elif piece in names:
                pattern += f"(?P={piece})"
            else:
                names.add(piece)
                pattern += f"(?P<{piece}>{self._value_form(piece)})"
        return re.compile(pattern)

    def _value_form(self, name: str) -> str:
        operand = self.operands.get(name)
        if operand is not None and isinstance(operand[0], int):
            return r"[+-]?\d+"
        return r"\w(?:[^()\[\]]*\w)?"


def _draw(operand: Operand, rng: Random) -> str:
    first = operand[0]
    if isinstance(first, int):
        return str(rng.randint(first, int(operand[1])))
    return str(operand[rng.randrange(len(operand))])


def _normal(value: str) -> str:
    """`+007` as `7`; other text with single blanks."""
    if re.fullmatch(r"[+-]?\d{1,40}", value):
        return str(int(value))
    return " ".join(value.split())
