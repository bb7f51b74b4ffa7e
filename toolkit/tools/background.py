"""One event loop on a thread of its own, for tools that wait on other machines.

Tools are called from ordinary threads; what they wait for is asynchronous. All of them share this loop, so a thousand
waiting calls cost a thousand small tasks. It knows nothing of HTTP or MCP.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop that runs until the process ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="toolkit-tools", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Run `work` on the loop and wait for it; `TimeoutError` and cancellation of the work after `seconds`."""
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self.loop).result()


@functools.cache
def background() -> BackgroundLoop:
    """The loop that all tools of this process share."""
    return BackgroundLoop()
