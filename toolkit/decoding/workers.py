"""Runs slow tools off the decode loop, each call with a deadline.

Threads are daemons and never joined: a tool that hangs costs its row a timeout and nothing else. Knows nothing of
tokens or models; results come back by row key.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence

from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import Toolbox

MAX_STUCK = 256  # threads left behind by calls that timed out; beyond this, slow calls are refused


class Workers:
    """Calls in flight, by row key."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._done: queue.SimpleQueue[tuple[int, Outcome]] = queue.SimpleQueue()
        self._flights: dict[int, tuple[int, float]] = {}
        self._stuck: set[int] = set()
        self._next = 0

    def submit(self, key: int, name: str, arguments: str, history: Sequence[Turn]) -> None:
        """Start a call for row `key`."""
        flight = self._next
        self._next += 1
        self._flights[flight] = (key, time.monotonic())
        if len(self._stuck) >= MAX_STUCK:
            self._done.put((flight, Outcome("error", "too many calls hang")))
            return

        def work() -> None:
            self._done.put((flight, self._toolbox.run(name, arguments, history)))

        threading.Thread(target=work, daemon=True, name=f"tool-{name}").start()

    def collect(self, block: bool) -> list[tuple[int, Outcome]]:
        """Finished and timed-out calls. With `block`, waits until there is at least one if any is in flight."""
        results: list[tuple[int, Outcome]] = []
        while self._flights:
            first = min(began for _, began in self._flights.values()) + self._toolbox.deadline
            try:
                wait = block and not results
                flight, outcome = self._done.get(
                    block=wait, timeout=max(0.0, first - time.monotonic()) if wait else None
                )
                self._stuck.discard(flight)
                if flight in self._flights:
                    results.append((self._flights.pop(flight)[0], outcome))
            except queue.Empty:
                late = self._expired()
                results.extend(late)
                if results or not block:
                    break
        return results

    def forget(self, key: int) -> None:
        """Drop the call of a row that has ended meanwhile."""
        for flight, (owner, _) in list(self._flights.items()):
            if owner == key:
                del self._flights[flight]
                self._stuck.add(flight)

    def rename(self, key: int, new: int) -> None:
        """A row has moved: its call, if any, now belongs to key `new`."""
        for flight, (owner, began) in self._flights.items():
            if owner == key:
                self._flights[flight] = (new, began)

    def _expired(self) -> list[tuple[int, Outcome]]:
        now, deadline = time.monotonic(), self._toolbox.deadline
        late = [flight for flight, (_, began) in self._flights.items() if now - began >= deadline]
        self._stuck.update(late)
        text = f"no answer within {deadline:g} s"
        return [(self._flights.pop(flight)[0], Outcome("timeout", text, deadline)) for flight in late]
