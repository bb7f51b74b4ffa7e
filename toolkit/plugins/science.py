"""The built-in science plugin with its tools: MATH, DATE and SEARCH, run in this process.

`toolkit plugin serve toolkit.plugins.science:plugin` serves the same over HTTP. Knows nothing of HTTP itself.
"""

from __future__ import annotations

from toolkit.plugins.manifest import builtin
from toolkit.plugins.plugin import LocalPlugin, Plugin
from toolkit.tools.builtin import builtin as builtin_tools

NAME = "science"


def science() -> LocalPlugin:
    """The manifest of the operator experiment over the built-in tools."""
    return LocalPlugin(builtin(NAME), builtin_tools())


def _served() -> Plugin:
    """The same as a plugin that can be served."""
    local = science()
    made = Plugin(local.manifest.name, local.manifest.description)
    for name, api in local.manifest.apis.items():
        made.add(local.tools[name], api.arguments, api.examples, api.pattern, api.history)
    return made


plugin = _served()
