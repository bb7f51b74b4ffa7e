"""Shows a run's progress: a live bar on a terminal, a line per cell and tenth elsewhere. Knows nothing of results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from experiments.base import Item
from experiments.records import Sample


class Progress:
    """A `Watch` that writes to `stream`, or nothing when `silent`; a context manager."""

    def __init__(self, stream: TextIO, silent: bool = False) -> None:
        self.stream, self.silent = stream, silent
        self.console = Console(file=stream, quiet=silent)
        self.bar: Bar | None = None
        self.left: Counter[tuple[str, str, int, str]] = Counter()
        self.total = self.made = self.done = 0
        self.started: float | None = None  # when the first answer came: loading the model is not counted

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def begin(self, total: int, done: int, items: Iterable[Item]) -> None:
        """Start the bar, or say what is to come."""
        self.total, self.done = total, done
        self.left = Counter(item.cell for item in items)
        if done < total:
            self._say(f"{total} samples, {done} there already; loading the model")
        if self.console.is_terminal and done < total and not self.silent:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self.bar = Bar(*columns, TimeRemainingColumn(), console=self.console)
            self.task = self.bar.add_task("samples", total=total, completed=done)
            self.bar.start()

    def answered(self, item_id: str) -> None:
        """Move the bar; without one, say each tenth."""
        self.made += 1
        self.started = self.started or time.monotonic()
        if self.bar is not None:
            self.bar.advance(self.task)
            return
        there, before = self.done + self.made, self.done + self.made - 1
        if 10 * there // self.total != 10 * before // self.total:
            speed = (self.made - 1) / max(1e-9, time.monotonic() - self.started)
            self._say(f"{100 * there // self.total:3d} %  {there}/{self.total}  {speed:.1f} per second")

    def saved(self, samples: Sequence[Sample]) -> None:
        """Say which cells are complete now."""
        for sample in samples:
            cell = sample["model"], sample["variant"], sample["shots"], sample["skill"]
            self.left[cell] -= 1
            if self.left[cell] == 0 and self.bar is None:
                self._say(f"cell done: {cell[0]} {cell[1]} N={cell[2]} {cell[3]}")

    def _say(self, line: str) -> None:
        if not self.silent:
            print(line, file=self.stream, flush=True)
