"""Loads a suite: one that ships with the toolkit by name, or a `.yaml` or `.py` file of the researcher.

A Python suite is the researcher's own program: it is run, and must define `SUITE`. YAML is data and is checked here,
down to a trial draw of every skill. Knows nothing of models or runs.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from experiments.config import read_yaml, validated
from experiments.suites.suite import Exchange, Suite
from experiments.suites.template import TemplateSkill, fields
from experiments.suites.tools import ToolData
from toolkit.errors import UserError
from toolkit.plugins.examples import FORM, ExampleCall, ExampleFault, parse_answer
from toolkit.tools.outcome import Tool

SHIPPED = Path(__file__).parent
Name = Annotated[str, Field(pattern=r"^[^/\s]{1,40}$")]
Range = Annotated[list[int], Field(min_length=2, max_length=2)]


class SkillData(BaseModel):
    """One skill of a YAML suite; see `TemplateSkill`."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    example: tuple[str, str]
    question: str
    arguments: str
    api: str
    operands: dict[str, Range | Annotated[list[str], Field(min_length=1)]] | None = None
    rows: list[dict[str, str]] = []
    truth: str | None = None
    compute: str | None = None


class SuiteData(BaseModel):
    """A YAML suite. `operands` serves every skill that gives none of its own."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    row_label: str = "skill"
    apis: Annotated[dict[str, ToolData], Field(min_length=1)]
    controls: list[tuple[str, str]] = []
    operands: dict[str, Range | Annotated[list[str], Field(min_length=1)]] = {}
    introduction: list[str] | None = None
    skills: Annotated[list[SkillData], Field(min_length=1)]


def load_suite(name: str, beside: Path | None = None) -> Suite:
    """The shipped suite `name`, or the suite in the file of that path (relative to the folder `beside`)."""
    if name.endswith((".yaml", ".yml", ".py")):
        path = Path(name).expanduser()
        path = path if path.is_absolute() or beside is None else beside / path
    else:
        found = [SHIPPED / f"{name}{ending}" for ending in (".yaml", "_suite.py")]
        path = next((path for path in found if path.is_file()), Path(name))
    if not path.is_file():
        raise UserError(f"no suite is named {name!r}", "suite", f"use {', '.join(shipped())}, or a .yaml or .py file")
    return _run_python(path) if path.suffix == ".py" else _read(path)


def shipped() -> list[str]:
    """Names of the suites that come with the toolkit."""
    names = [path.stem for path in SHIPPED.glob("*.yaml")]
    return sorted([*names, *(path.stem.removesuffix("_suite") for path in SHIPPED.glob("*_suite.py"))])


def _read(path: Path) -> Suite:
    raw = read_yaml(path)
    data = validated(SuiteData, raw, str(path))
    tools = {api: entry.build(api) for api, entry in data.apis.items()}
    skills = tuple(_skill(entry, data, tools, f"{path}: skills.{entry.name}") for entry in data.skills)
    names = [skill.name for skill in skills]
    introduction = names if data.introduction is None else data.introduction
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(f"two skills are named {sorted(repeated)[0]!r}", f"{path}: skills", "name each one differently")
    if unknown := [name for name in introduction if name not in names]:
        raise UserError(f"no skill is named {unknown[0]!r}", f"{path}: introduction", f"use {', '.join(names)}")
    controls: tuple[Exchange, ...] = tuple(data.controls)
    source = json.dumps(raw, sort_keys=True, default=str)
    patterns = {api: entry.pattern for api, entry in data.apis.items() if entry.pattern is not None}
    return Suite(data.name, skills, tools, tuple(introduction), controls, data.row_label, source, patterns)


def _skill(entry: SkillData, data: SuiteData, tools: dict[str, Tool], where: str) -> TemplateSkill:
    if entry.api not in tools:
        raise UserError(f"no API is named {entry.api!r}", f"{where}.api", f"use {', '.join(tools)}")
    written: dict[str, Any] = data.operands if entry.operands is None and not entry.rows else entry.operands or {}
    used = set().union(
        *(fields(text) for text in (entry.question, entry.arguments, entry.truth, entry.compute) if text)
    )
    operands = {name: tuple(value) for name, value in written.items() if entry.operands is not None or name in used}
    skill = TemplateSkill(
        entry.name,
        entry.api,
        entry.example,
        entry.question,
        entry.arguments,
        operands,
        entry.rows,
        entry.truth,
        entry.compute,
        tools[entry.api],
    )
    try:
        question = skill.ask(Random(0))
    except KeyError as error:
        raise UserError(f"a template uses {error}, which is no operand", where, "add it to operands or rows") from error
    except ValueError as error:
        raise UserError(str(error), where, "correct operands, arguments or the truth") from error
    if skill.read(question.arguments) is None:
        raise UserError(f"its own arguments {question.arguments!r} are not read back", where, "simplify the template")
    _check_example(skill, where)
    return skill


def _check_example(skill: TemplateSkill, where: str) -> None:
    """The example must hold a call of the skill's own form, or it would show something else."""
    try:
        pieces = parse_answer(skill.example[1])
    except ExampleFault as fault:
        raise UserError(str(fault), f"{where}.example", FORM) from None
    calls = [piece for piece in pieces if isinstance(piece, ExampleCall)]
    if not any(call.name == skill.api and skill.read(call.arguments) is not None for call in calls):
        form = f"[{skill.api}({skill.arguments}) -> result]"
        raise UserError(
            "the example has no call of the skill's form", f"{where}.example", f"write {form} in its answer"
        )


def _run_python(path: Path) -> Suite:
    """Run the file and take its `SUITE`."""
    spec = importlib.util.spec_from_file_location(f"suite_{path.stem}", path)
    assert spec is not None and spec.loader is not None  # a path that ends in .py always has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"the suite fails: {type(error).__name__}: {error}", str(path), "correct the file") from error
    suite = getattr(module, "SUITE", None)
    if not isinstance(suite, Suite):
        raise UserError("the file defines no SUITE", str(path), "end it with SUITE = Suite(...)")
    return suite
