"""A plugin written in Python: decorated functions that become APIs with a manifest.

The same object can be served over HTTP (`serve.py`) or run in this process (`Plugin.tools`); its author need not know
which. This file knows nothing of HTTP, prompts or models.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from toolkit.errors import UserError
from toolkit.plugins.manifest import Api, Manifest, validate
from toolkit.tools.outcome import Outcome, Tool, Turn
from toolkit.tools.toolbox import Toolbox, reason

Function = TypeVar("Function", bound=Callable[..., "str | int | float"])
PLACEHOLDER = "http://127.0.0.1:8000"
CRASHED = "the function failed"
log = logging.getLogger(__name__)


class NoResult(Exception):
    """Raised by an API's function when it has no result for these arguments; the text says why, in one line."""


@dataclass(frozen=True)
class FunctionTool:
    """An API's function as a tool. `parameters` is how many of (arguments, history) the function takes."""

    name: str
    function: Callable[..., str | int | float]
    parameters: int
    inline: bool = False

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """Call the function. An exception other than NoResult is logged here and not told to the caller."""
        try:
            return Outcome("ok", str(self.function(*(arguments, history)[: self.parameters])))
        except NoResult as why:
            return Outcome("error", reason(str(why)) or "no result")
        except Exception:
            log.exception("API %s failed", self.name)
            return Outcome("error", CRASHED)


class Plugin:
    """A plugin under construction: `@plugin.api(...)` adds a function as an API."""

    def __init__(self, name: str, description: str) -> None:
        self.name, self.description = name, description
        self.tools: dict[str, Tool] = {}
        self._apis: dict[str, dict[str, Any]] = {}

    def api(
        self,
        *,
        examples: Sequence[tuple[str, str]],
        name: str | None = None,
        pattern: str | None = None,
        history: int = 0,
    ) -> Callable[[Function], Function]:
        """Add a function as an API, named as the function in upper case unless `name` says otherwise.

        A function without parameters is an API without arguments; one parameter is the argument string; a second one
        gets the last `history` turns. It returns text or a number, and raises NoResult when it has none.
        """

        def add(function: Function) -> Function:
            api = name or function.__name__.upper()
            parameters = _parameters(function, history, f"function {function.__name__}")
            self.add(FunctionTool(api, function, parameters), parameters > 0, examples, pattern, history)
            return function

        return add

    def add(
        self,
        tool: Tool,
        arguments: bool,
        examples: Sequence[tuple[str, str]],
        pattern: str | None = None,
        history: int = 0,
    ) -> None:
        """Add a ready-made tool as an API; `arguments` says whether it takes any."""
        if tool.name in self.tools:
            raise UserError(f"the plugin has two APIs named {tool.name}", f"plugin {self.name}", "rename one of them")
        self.tools[tool.name] = tool
        entry = {"arguments": arguments, "history": history, "examples": [list(pair) for pair in examples]}
        self._apis[tool.name] = entry if pattern is None else {**entry, "pattern": pattern}

    def manifest(self, base_url: str = PLACEHOLDER) -> Manifest:
        """The manifest, with every API under `base_url`. UserError when an example or a pattern is wrong."""
        root = base_url.rstrip("/")
        apis = {name: {"url": f"{root}/api/{name}", **entry} for name, entry in self._apis.items()}
        value = {"plugin_api_version": 0, "name": self.name, "description": self.description, "apis": apis}
        return validate(value, f"plugin {self.name}")


@dataclass(frozen=True)
class LocalPlugin:
    """A manifest and the tools that stand in for its addresses in this process, by API name; mostly none."""

    manifest: Manifest
    tools: Mapping[str, Tool]


def toolbox_of(apis: Mapping[str, Api], tools: Mapping[str, Tool], deadline: float = 10.0) -> Toolbox:
    """A toolbox over `tools` that enforces what a manifest says: patterns, history, and no arguments where none."""
    patterns = {name: api.pattern for name, api in apis.items() if api.pattern is not None}
    patterns |= {name: "" for name, api in apis.items() if not api.arguments}
    return Toolbox(tools, patterns, {name: api.history for name, api in apis.items()}, deadline)


def _parameters(function: Callable[..., object], history: int, where: str) -> int:
    """How many positional parameters the function takes: 0, 1, or 2 with history."""
    taken = inspect.signature(function).parameters.values()
    if len(taken) > 2 or any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in taken):
        raise UserError("takes other parameters than (arguments, history)", where, "take none, one or both of them")
    if (history > 0) != (len(taken) == 2):
        raise UserError(f"history={history} with {len(taken)} parameters", where, "take (arguments, history) for turns")
    return len(taken)
