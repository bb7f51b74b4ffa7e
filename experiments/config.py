"""Reading configurations: YAML to checked pydantic objects, `--set key=value`, and errors that name file, key and fix.

Knows nothing of any experiment's keys.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from toolkit.errors import UserError

MAX_BYTES = 1 << 18
Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key written twice instead of taking the last, and aliases, which can explode."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Any node but an alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            problem = f"the alias *{event.anchor} is not taken: write the value out"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping with distinct keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} is there twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError("the file is larger than 256 KB", str(path), "a configuration is small: give another file")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError("there is no such file", str(path), "correct the path; configs/ holds examples") from error
    except IsADirectoryError as error:
        raise UserError("this is a folder", str(path), "give a YAML file, see configs/ for examples") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"this cannot be read: {error}", str(path), "give a YAML file") from error
    data = _parse(text, str(path))
    if not isinstance(data, dict):
        raise UserError("this is not a mapping of keys to values", str(path), "see configs/ for examples")
    return data


def _parse(text: str, where: str) -> Any:
    """The data in YAML text. PyYAML raises ValueError for numbers and dates that are none, such as 2023-99-99."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UserError(f"not YAML: {problem}", place, "correct the syntax") from error


def override(data: dict[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """`data` with each `key.subkey=value` set; the value is YAML, list elements are addressed by number."""
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise UserError("this is not key=value", _set(assignment), "write for instance --set trials=50")
        value = _parse(text, _set(assignment))
        *parents, last = key.strip().split(".")
        target: Any = data
        for part in parents:
            target = _step(target, part, assignment)
        _assign(target, last, value, assignment)
    return data


def _set(assignment: str) -> str:
    return f"--set {_short_text(assignment)}"


def _step(target: Any, part: str, assignment: str) -> Any:
    if isinstance(target, dict):
        return target.setdefault(part, {})
    if isinstance(target, list) and part.isdigit() and int(part) < len(target):
        return target[int(part)]
    raise UserError(f"there is nothing under {part!r}", _set(assignment), "see the configuration for its keys")


def _assign(target: Any, last: str, value: Any, assignment: str) -> None:
    if isinstance(target, dict):
        target[last] = value
    elif isinstance(target, list) and last.isdigit() and int(last) < len(target):
        target[int(last)] = value
    else:
        raise UserError(f"there is nothing under {last!r}", _set(assignment), "see the configuration for its keys")


def validated(model: type[Model], data: Any, where: str) -> Model:
    """`data` as a `model`; the first mistake becomes one line with file, key and fix."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(str(part) for part in first["loc"])
        more = error.error_count() - 1
        fix = _fix(first["type"], first["loc"], model) + (f" ({more} more after this)" if more else "")
        unknown = first["type"] == "extra_forbidden"
        message = "there is no such key" if unknown else first["msg"].removeprefix("Value error, ")
        raise UserError(
            f"{message} (got {_short(first['input'])})", f"{where}: {location}" if location else where, fix
        ) from None


def _fix(kind: str, location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """What to do about one mistake."""
    if kind == "missing":
        return f"add the key {location[-1]!r}"
    if kind != "extra_forbidden":
        return "correct the value"
    known = list(model.model_fields) if len(location) == 1 else []
    close = difflib.get_close_matches(str(location[-1]), known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"remove it; known keys are {', '.join(known)}" if known else "remove it"


def _short(value: object) -> str:
    return _short_text(repr(value))


def _short_text(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
