"""Tool use by local language models: plugins, call interception during decoding, tuning and planning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.assistant import Assistant, load_plugins
    from toolkit.chat.answer import Settings
    from toolkit.plugins.plugin import Plugin

__all__ = ["Assistant", "Plugin", "Settings", "load_plugins"]
HOMES = {
    "Assistant": "toolkit.assistant",
    "load_plugins": "toolkit.assistant",
    "Plugin": "toolkit.plugins.plugin",
    "Settings": "toolkit.chat.answer",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import toolkit` stays quick."""
    if name not in HOMES:
        raise AttributeError(f"module 'toolkit' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
