"""Finding plugins: by the name of a built-in or an installed one, or by the path of a manifest.

Installed Python packages offer plugins under the entry point group `toolkit.plugins`; the entry is a `Plugin`, a
`Manifest`, a `LocalPlugin`, or the path of a manifest file. A broken package is a warning that names it. With
`TOOLKIT_LOAD_PLUGINS=0` in the environment none is loaded, and with a comma-separated list only those named.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from toolkit.errors import UserError
from toolkit.plugins.faults import quote
from toolkit.plugins.manifest import Manifest, load
from toolkit.plugins.plugin import LocalPlugin, Plugin
from toolkit.plugins.science import NAME as SCIENCE
from toolkit.plugins.science import science

GROUP = "toolkit.plugins"
VARIABLE = "TOOLKIT_LOAD_PLUGINS"


class PluginWarning(UserWarning):
    """An installed package's plugin could not be loaded."""


def open_plugin(name_or_path: str | Path) -> LocalPlugin:
    """The plugin that a name or path means. UserError when there is none.

    In order: `science`, an existing path (a file, or a folder with a `manifest.json`), an installed plugin.
    """
    text = str(name_or_path)
    if text == SCIENCE:
        return science()
    if Path(text).exists():
        return LocalPlugin(load(text), {})
    known = {entry.name: entry for entry in _entries()}
    if text not in known:
        names = ", ".join([SCIENCE, *known])
        raise UserError(
            f"{quote(text)} is neither a manifest file nor a plugin here", fix=f"give a path or one of: {names}"
        )
    try:
        return _opened(known[text])
    except Exception as error:
        raise UserError(f"the installed plugin cannot be loaded: {_why(error)}", _place(known[text])) from error


def installed() -> dict[str, LocalPlugin]:
    """All installed plugins that load, by name; one PluginWarning for each that does not."""
    found: dict[str, LocalPlugin] = {}
    for entry in _entries():
        try:
            found[entry.name] = _opened(entry)
        except Exception as error:  # a stranger's package may raise anything at import
            warnings.warn(f"{_place(entry)} is left out: {_why(error)}", PluginWarning, stacklevel=2)
    return found


def _entries() -> Iterable[EntryPoint]:
    """The entry points that the environment allows."""
    wanted = os.environ.get(VARIABLE)
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    if wanted is None:
        return entries
    names = {name.strip() for name in wanted.split(",")}
    return [entry for entry in entries if entry.name in names]


def _opened(entry: EntryPoint) -> LocalPlugin:
    offered = entry.load()
    if isinstance(offered, LocalPlugin):
        return offered
    if isinstance(offered, Plugin):
        return LocalPlugin(offered.manifest(), offered.tools)
    if isinstance(offered, Manifest):
        return LocalPlugin(offered, {})
    if isinstance(offered, str | Path):
        return LocalPlugin(load(offered), {})
    raise TypeError(f"{entry.value} is {type(offered).__name__}, not a Plugin, a Manifest or a path")


def _place(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "an unknown package"
    return f"plugin {entry.name} of package {package}"


def _why(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
