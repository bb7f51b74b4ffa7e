"""What is wrong with a manifest: one `Fault` per mistake, with the place and the fix.

Faults are collected, never thrown one at a time, so that an author sees all of them in one go. This file knows
nothing of what a manifest holds; text from a manifest is shortened before it is quoted, since it may be hostile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolkit.errors import UserError

Path = tuple[str | int, ...]
Level = Literal["error", "warning"]


def quote(text: object, limit: int = 60) -> str:
    """`text` as a quoted string of at most about `limit` characters."""
    shown = str(text)
    return repr(shown if len(shown) <= limit else shown[: limit - 3] + "...")


def path_text(path: Path) -> str:
    """`("apis", "MATH", "examples", 0, 1)` as `apis.MATH.examples[0][1]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("-", "_").isidentifier() and len(part) <= 60:
            text += f".{part}" if text else part
        else:
            text += f"[{quote(part)}]"
    return text


@dataclass(frozen=True)
class Fault:
    """One mistake. `line` and `column` count from 1 and are None where the manifest did not come from a text."""

    message: str
    path: Path = ()
    line: int | None = None
    column: int | None = None
    fix: str | None = None
    level: Level = "error"

    def where(self, source: str) -> str:
        """`manifest.json:3:14 apis.MATH.url`, as far as it is known."""
        place = f"{source}:{self.line}:{self.column}" if self.line is not None else source
        return f"{place} {path_text(self.path)}".rstrip()

    def render(self, source: str) -> str:
        """The fault as one line."""
        tail = f"; {self.fix}" if self.fix else ""
        return " ".join(f"{self.where(source)}: {self.level}: {self.message}{tail}".split())

    def record(self) -> dict[str, Any]:
        """The fault as JSON data, the path in its written form."""
        return {**asdict(self), "path": path_text(self.path)}


def errors(faults: Sequence[Fault]) -> list[Fault]:
    """The faults that are not mere warnings."""
    return [fault for fault in faults if fault.level == "error"]


def as_user_error(faults: Sequence[Fault], source: str) -> UserError:
    """The first error as an exception; the others are counted and can be seen with `lint`."""
    wrong = errors(faults)
    first = wrong[0]
    others = len(wrong) - 1
    more = f"{others} more fault{'s' if others > 1 else ''}: toolkit plugin lint lists them all" if others else None
    return UserError(first.message, where=first.where(source), fix="; ".join(filter(None, (first.fix, more))) or None)
