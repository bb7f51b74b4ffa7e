"""What a suite is: skills in order, the examples that are always in the prompt, and the tools behind the API names.

A skill has one example exchange, draws questions, knows the truth and the call it should make, and recognises its own
calls. This file knows nothing of prompts, models or files; `docs/suites.md` shows how to write a suite.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from toolkit.tools.outcome import Tool

Exchange = tuple[str, str]  # a question and its answer, calls written in the arrow syntax


@dataclass(frozen=True)
class Question:
    """One question: its text, the arguments of the call that answers it, and the truth as the tool would write it."""

    text: str
    arguments: str
    truth: str


class Skill(Protocol):
    """Something a model can be shown once and asked about."""

    @property
    def name(self) -> str:
        """How matrices call the skill; no `/` in it."""
        ...

    @property
    def api(self) -> str:
        """The API that the skill should call."""
        ...

    @property
    def example(self) -> Exchange:
        """The exchange that shows the skill."""
        ...

    def ask(self, rng: Random) -> Question:
        """A question. Skills that draw the same numbers in the same order get the same operands in a trial."""
        ...

    def read(self, arguments: str) -> str | None:
        """The call's arguments in one normal form when they are of this skill's form, else None."""
        ...


@dataclass(frozen=True)
class Suite:
    """Skills in the order that matrices print, and what surrounds them.

    `introduction` is the order in which shots introduce skills (a skill that is not in it is held out throughout);
    `controls` are the exchanges that every prompt holds; `source` is what the suite was made from, for its digest.
    `patterns` says for some APIs which arguments they take at all, as a regular expression, for constrained runs.
    """

    name: str
    skills: tuple[Skill, ...]
    tools: Mapping[str, Tool]
    introduction: tuple[str, ...]
    controls: tuple[Exchange, ...] = ()
    row_label: str = "skill"
    source: str = field(default="", repr=False)
    patterns: Mapping[str, str] = field(default_factory=dict)

    def skill(self, name: str) -> Skill:
        """The skill of that name; KeyError when there is none."""
        return {skill.name: skill for skill in self.skills}[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the skills in order."""
        return tuple(skill.name for skill in self.skills)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that decides questions and prompts; stored in run headers."""
        shown = [[skill.name, skill.api, skill.example] for skill in self.skills]
        body = json.dumps([self.name, shown, self.introduction, self.controls, sorted(self.tools), self.source])
        return hashlib.sha256(body.encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """The suite as a run header keeps it."""
        return {"name": self.name, "digest": self.digest, "skills": list(self.names), "apis": sorted(self.tools)}


def identify(skills: Sequence[Skill], api: str, arguments: str) -> tuple[str, str] | None:
    """(skill, normal form) of a call: the first skill of that API whose form the arguments have."""
    for skill in skills:
        if skill.api == api:
            form = skill.read(arguments)
            if form is not None:
                return skill.name, form
    return None
