"""From plugins to a toolbox: each API becomes a tool, over HTTP or in this process.

Knows manifests and tools; knows nothing of prompts or models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolkit.errors import UserError
from toolkit.plugins.compile import refuse_duplicates
from toolkit.plugins.manifest import Manifest
from toolkit.plugins.plugin import LocalPlugin, toolbox_of
from toolkit.tools.http import HttpClient, HttpSettings, endpoint
from toolkit.tools.outcome import Tool
from toolkit.tools.toolbox import Toolbox


def load_toolbox(
    plugins: Sequence[Manifest | LocalPlugin],
    tools: Mapping[str, Tool] | None = None,
    settings: Mapping[str, HttpSettings] | None = None,
    deadline: float = 10.0,
) -> Toolbox:
    """A toolbox of all APIs of all plugins.

    An API named in `tools`, or in a plugin's own tools, runs in this process; every other one is called at its `url`
    with the plugin's `settings` (by plugin name; the defaults refuse private addresses). `deadline` in seconds. Two
    plugins with an API of the same name, or a name in `tools` that no plugin has, are a UserError.
    """
    manifests = [plugin if isinstance(plugin, Manifest) else plugin.manifest for plugin in plugins]
    refuse_duplicates(manifests)
    local = {name: tool for plugin in plugins if isinstance(plugin, LocalPlugin) for name, tool in plugin.tools.items()}
    local |= tools or {}
    names = {name for manifest in manifests for name in manifest.apis}
    if unknown := sorted(local.keys() - names):
        raise UserError(f"a tool is given for {unknown[0]}, which is no API of these plugins", fix="correct its name")
    return _merged(manifests, local, settings or {}, deadline)


def _merged(
    manifests: Sequence[Manifest], local: Mapping[str, Tool], settings: Mapping[str, HttpSettings], deadline: float
) -> Toolbox:
    merged: dict[str, Tool] = {}
    for manifest in manifests:
        client: HttpClient | None = None
        for name, api in manifest.apis.items():
            if name in local:
                merged[name] = local[name]
                continue
            client = client or HttpClient(settings.get(manifest.name))
            merged[name] = endpoint(name, api.url, client)
    apis = {name: api for manifest in manifests for name, api in manifest.apis.items()}
    return toolbox_of(apis, merged, deadline)
