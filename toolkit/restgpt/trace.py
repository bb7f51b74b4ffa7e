"""What happened in a run, step by step, as plain data: for the stream on the screen, the JSON record and the page.

A step has a kind, the seconds since the start and data of its own; long prompt parts that repeat are kept once by
their hash. Secrets never get here (`Exchange` holds none). Knows nothing of how steps come about.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

Kind = Literal["model", "sub_task", "api_plan", "call", "exchange", "code", "result", "trial", "limit", "answer"]


@dataclass(frozen=True)
class Step:
    """One step: `at` is seconds since the start of the run, `data` is JSON data."""

    kind: Kind
    at: float
    data: dict[str, Any]


class Trace:
    """The steps of one run, in order; `listener` hears of each as it happens."""

    def __init__(self, listener: Callable[[Step], None] | None = None) -> None:
        self.steps: list[Step] = []
        self.texts: dict[str, str] = {}
        self._listener = listener
        self._start = time.monotonic()

    def add(self, kind: Kind, **data: Any) -> dict[str, Any]:
        """Record a step and return its data, to which the caller may add what turns out later."""
        step = Step(kind, round(time.monotonic() - self._start, 3), data)
        self.steps.append(step)
        if self._listener:
            self._listener(step)
        return data

    def keep(self, text: str) -> str:
        """Store a text that many steps share; returns the hash that stands for it."""
        key = fingerprint(text)
        self.texts[key] = text
        return key

    def of(self, kind: Kind) -> list[dict[str, Any]]:
        """The data of all steps of a kind, in order."""
        return [step.data for step in self.steps if step.kind == kind]

    def record(self) -> dict[str, Any]:
        """The whole trace as JSON data."""
        steps = [{"kind": step.kind, "at": step.at, **step.data} for step in self.steps]
        return {"steps": steps, "texts": dict(self.texts)}

    def page(self, title: str, answer: str, status: str, header: Mapping[str, Any]) -> str:
        """A readable, self-contained HTML page. Everything shown is escaped."""
        from jinja2 import Environment

        source = (files("toolkit.restgpt") / "trace.html").read_text("utf-8")
        template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
        return template.render(
            title=title, answer=answer, status=status, header=header, steps=self.steps, texts=self.texts
        )


def fingerprint(text: str) -> str:
    """The first 16 hex digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
