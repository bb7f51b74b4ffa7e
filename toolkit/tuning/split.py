"""Which operators are seen in training and which are held out, and the search that proves it on finished text.

Knows exchanges; knows nothing of tokens or models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolkit.errors import UserError
from toolkit.plugins.plugin import LocalPlugin
from toolkit.tuning.config import Data
from toolkit.tuning.exchanges import Exchange, Template


@dataclass(frozen=True)
class Split:
    """Operators (or API names) in the order of the manifests: `seen` in training or `held_out`, and held-out `apis`."""

    seen: tuple[str, ...]
    held_out: tuple[str, ...]
    apis: tuple[str, ...]


def split(data: Data, plugins: Sequence[LocalPlugin], found: Sequence[Template]) -> Split:
    """What a configuration trains on. UserError for an unknown API or operator, and when nothing is left."""
    names = [name for plugin in plugins for name in plugin.manifest.apis]
    if unknown := [name for name in data.apis or () if name not in names]:
        raise UserError(f"no API is named {unknown[0]!r}", "data.apis", f"the plugins have {', '.join(names)}")
    allowed = [name for name in names if data.apis is None or name in data.apis]
    everything = list(dict.fromkeys(template.operator for template in found))
    offered = list(dict.fromkeys(template.operator for template in found if template.call.name in allowed))
    seen = _seen(data, offered)
    if not seen:
        raise UserError("no operator is left to train on", "data", f"the plugins show {', '.join(everything)}")
    held_out = tuple(name for name in everything if name not in seen)
    return Split(tuple(seen), held_out, tuple(name for name in names if name not in allowed))


def _seen(data: Data, offered: list[str]) -> list[str]:
    if data.first is not None:
        if data.first > len(offered):
            raise UserError(f"there are {len(offered)} operators, not {data.first}", "data.first", ", ".join(offered))
        return offered[: data.first]
    for name in [data.all_but] if data.all_but is not None else data.operators or []:
        if name not in offered:
            raise UserError(f"no example shows {name!r}", "data", f"there are {', '.join(offered)}")
    if data.all_but is not None:
        return [name for name in offered if name != data.all_but]
    return [name for name in offered if name in (data.operators or ())]


def refuse_held_out(exchanges: Iterable[Exchange], parts: Split, where: str) -> None:
    """UserError when an exchange shows a held-out operator or names a held-out API."""
    patterns = {name: occurrence(name) for name in (*parts.held_out, *parts.apis)}
    for number, exchange in enumerate(exchanges, 1):
        for name, pattern in patterns.items():
            if pattern.search(exchange.question) or pattern.search(exchange.answer):
                raise UserError(
                    f"{name!r} is held out but stands in exchange {number} ({exchange.question[:60]!r})",
                    where,
                    "remove the exchange, or train on that operator",
                )


def occurrence(name: str) -> re.Pattern[str]:
    """Where an operator stands between two numbers, or an API's name as a word."""
    if re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        return re.compile(rf"(?<![\w]){re.escape(name)}(?![\w])")
    return re.compile(rf"\d\s*{re.escape(name)}\s*-?\d")
