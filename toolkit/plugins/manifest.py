"""The manifest of a plugin, standard version 0: its shape, its checks, and loading it from a file.

`load` and `validate` are the ways to get a `Manifest` that can be trusted: they run the checks of `checks.py`, which
a bare constructor does not. Knows nothing of prompts, models or HTTP.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from toolkit.errors import UserError
from toolkit.plugins.checks import check
from toolkit.plugins.faults import Fault, as_user_error, errors, quote
from toolkit.plugins.faults import Path as Place
from toolkit.plugins.loose import MAX_CHARACTERS, Document, parse
from toolkit.tools.toolbox import MAX_PATTERN

API_VERSION = 0
MAX_HISTORY = 64

Line = Annotated[str, Field(min_length=1, max_length=4000, strict=True)]
Example = tuple[
    Annotated[Line, Field(description="what the guest asks, one line")],
    Annotated[Line, Field(description="the answer, one line, calls written as [NAME(arguments) -> result]")],
]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$", strict=True)]


class Api(BaseModel):
    """One endpoint: where it is, how it is called, and exchanges that show it in use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(strict=True, max_length=2000, description="http or https address that calls are posted to")
    arguments: bool = Field(strict=True, description="whether the call takes arguments; if not, only NAME() is right")
    history: int = Field(
        default=0, strict=True, ge=0, le=MAX_HISTORY, description="how many of the last turns the endpoint gets"
    )
    examples: tuple[Example, ...] = Field(default=(), max_length=1000, description="[question, answer] pairs")
    pattern: str | None = Field(
        default=None,
        strict=True,
        max_length=MAX_PATTERN,
        description="regular expression that the whole argument string must match",
    )


class Manifest(BaseModel):
    """A plugin: a list of API endpoints, how to call them, and where they are useful."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"$schema": "https://json-schema.org/draft/2020-12/schema"}
    )

    plugin_api_version: Literal[0] = Field(description="version of the standard")
    name: str = Field(strict=True, min_length=1, max_length=100)
    description: str = Field(strict=True, max_length=2000)
    apis: dict[Name, Api] = Field(min_length=1, max_length=256, description="API name -> endpoint")


@dataclass(frozen=True)
class Reading:
    """What came of reading a manifest. `manifest` is None when there is an error among the faults."""

    manifest: Manifest | None
    faults: tuple[Fault, ...]
    document: Document


def read(text: str) -> Reading:
    """Read a manifest text, strict or loose; every fault at once, with line and column."""
    document = parse(text)
    faults = list(document.faults)
    manifest = None
    if document.complete:
        manifest, found = _validated(document.value)
        faults += [document.locate(fault) for fault in found]
    faults.sort(key=lambda fault: (fault.line or 0, fault.column or 0))
    return Reading(None if errors(faults) else manifest, tuple(faults), document)


def load(path: str | Path) -> Manifest:
    """Load a manifest file, or the `manifest.json` of a folder. UserError names the first fault and counts the rest."""
    file = manifest_file(path)
    reading = read(read_text(file))
    if reading.manifest is None:
        raise as_user_error(reading.faults, str(file))
    return reading.manifest


def validate(value: Any, source: str = "manifest") -> Manifest:
    """A manifest from data that is parsed already. UserError names `source` and the first fault."""
    manifest, faults = _validated(value)
    if manifest is None or errors(faults):
        raise as_user_error(faults, source)
    return manifest


def builtin(name: str = "science") -> Manifest:
    """A manifest that ships with the toolkit: `science` holds the controls and examples of the operator experiment."""
    file = resources.files("toolkit.plugins") / "data" / f"{name}.json"
    if not name.isidentifier() or not file.is_file():
        raise UserError(f"no built-in plugin is named {quote(name)}", fix="the one there is: science")
    return validate(json.loads(file.read_text(encoding="utf-8")), f"built-in plugin {name}")


def manifest_file(path: str | Path) -> Path:
    """The file that `path` means: itself, or `manifest.json` in a folder."""
    path = Path(path)
    file = path / "manifest.json" if path.is_dir() else path
    if not file.is_file():
        raise UserError("no such file", str(file), "give the path of a manifest.json (toolkit plugin new writes one)")
    return file


def read_text(file: Path) -> str:
    """The text of a manifest file; UserError when it is too large or not UTF-8."""
    try:
        if file.stat().st_size > 4 * MAX_CHARACTERS:
            raise UserError(f"larger than {4 * MAX_CHARACTERS} bytes", str(file), "split the plugin")
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text (byte {error.start})", str(file), "save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", str(file)) from None


def schema_text() -> str:
    """The JSON Schema of a manifest, as published in `manifest.schema.json`."""
    return json.dumps(Manifest.model_json_schema(), indent=2, sort_keys=True) + "\n"


def _validated(value: Any) -> tuple[Manifest | None, list[Fault]]:
    """Shape by pydantic and meaning by `check`, both over the whole value."""
    try:
        return Manifest.model_validate(value), check(value)
    except ValidationError as error:
        shape = [_fault(dict(entry)) for entry in error.errors(include_url=False)]
        seen = {fault.path for fault in shape}
        return None, shape + [fault for fault in check(value) if fault.path not in seen]


def _fault(entry: Mapping[str, Any]) -> Fault:
    """One pydantic error in our words."""
    path: Place = tuple(entry["loc"])
    kind, context = str(entry["type"]), entry.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if path[-1:] == ("[key]",):
        return Fault(f"{quote(path[-2])} is not an API name", path[:-1], fix="use letters, digits and _ . - only")
    if kind == "missing" and isinstance(path[-1], int):
        return Fault("an example needs a question and an answer", path[:-1], fix='write ["question", "answer"]')
    if kind == "missing":
        return Fault(f"{path[-1]} is missing", path, fix=f"add it: {_EXAMPLE_FIELDS.get(str(path[-1]), '...')}")
    if path == ("plugin_api_version",):
        return Fault(f"version {quote(entry['input'])} is not known", path, fix=f"write {API_VERSION}")
    if kind in ("model_type", "dict_type"):
        return Fault("not an object", path, fix='write {"key": value, ...}')
    if kind == "too_long" and context.get("field_type") == "Tuple" and path[-2:-1] == ("examples",):
        return Fault("an example has more than two texts", path, fix='write ["question", "answer"]')
    return Fault(str(entry["msg"]).replace("Input should", "should").replace("Tuple", "List"), path, fix="correct it")


_EXAMPLE_FIELDS = {
    "plugin_api_version": '"plugin_api_version": 0',
    "name": '"name": "My plugin"',
    "description": '"description": "What it is good for."',
    "apis": '"apis": {"NAME": {...}}',
    "url": '"url": "https://example.tld/api"',
    "arguments": '"arguments": true',
}


def _unknown_key(path: Place) -> Fault:
    """A key that the standard does not know, with the nearest one that it does."""
    fields = Manifest.model_fields if len(path) == 1 else Api.model_fields
    near = difflib.get_close_matches(str(path[-1]), list(fields), n=1)
    fix = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(fields)}"
    return Fault(f"{quote(path[-1])} is not a key of the standard", path, fix=fix)
