"""The planning strategies that can be compared, all behind `Strategy` and on the same executor.

Sources: the RestGPT paper's section 3 and appendix B. "no-planner" is ReAct by the paper's own construction (removing
the Planner leaves the selector to act on the request step by step, its table shows the same figures).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolkit.errors import UserError
from toolkit.restgpt.loop import RestGPT
from toolkit.restgpt.parser import Mode
from toolkit.restgpt.strategies.deps import Deps
from toolkit.restgpt.strategies.flat import Flat
from toolkit.restgpt.strategies.offline import Offline
from toolkit.restgpt.strategies.react import ReAct
from toolkit.restgpt.strategies.reflexion import Reflexion
from toolkit.restgpt.workbench import Strategy


@dataclass(frozen=True)
class Method:
    """A strategy by name, with the mode of the executor's Parser."""

    name: str
    make: Callable[[], Strategy]
    parser: Mode
    about: str


_METHODS = (
    Method("restgpt", RestGPT, "code", "Planner, selector and executor, online (the paper's method)"),
    Method("offline", Offline, "code", "the whole plan first, then executed as it is"),
    Method("deps", Deps, "code", "a plan first, explained and revised after every step"),
    Method("react", ReAct, "code", "thought and call in turn, no Planner"),
    Method("reflexion", Reflexion, "code", "ReAct in two trials, lessons of the first kept as text"),
    Method("flat", Flat, "direct", "every endpoint as a tool, raw answers, no modules"),
    Method("no-planner", ReAct, "code", "RestGPT without its Planner (ReAct, by construction)"),
    Method("no-schema-parser", RestGPT, "direct", "RestGPT reading the JSON itself instead of writing a program"),
    Method("jmespath", RestGPT, "jmespath", "RestGPT whose Parser writes a JMESPath query instead of a program"),
)
STRATEGIES: dict[str, Method] = {method.name: method for method in _METHODS}


def find_strategy(name: str) -> Method:
    """The strategy of that name. Raises `UserError`."""
    if name not in STRATEGIES:
        raise UserError(f"there is no strategy {name!r}", fix=f"choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
