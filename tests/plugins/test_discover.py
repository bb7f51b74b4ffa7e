"""Plugins of installed packages, by entry point: good ones, broken ones, and the switch that loads none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolkit.errors import UserError
from toolkit.plugins.discover import VARIABLE, PluginWarning, installed, open_plugin
from toolkit.plugins.manifest import builtin
from toolkit.plugins.writing import manifest_json

GOOD = """
from toolkit.plugins.plugin import Plugin
plugin = Plugin("Good", "d")
@plugin.api(examples=[("q", "[ONE() -> 1]")])
def one():
    return 1
manifest = plugin.manifest()
number = 3
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with two installed distributions, one of them broken."""
    (tmp_path / "goodplug.py").write_text(GOOD)
    (tmp_path / "badplug.py").write_text("raise RuntimeError('no\\nluck')")
    (tmp_path / "science.json").write_text(manifest_json(builtin()))
    (tmp_path / "pathplug.py").write_text(f"path = {str(tmp_path / 'science.json')!r}")
    entries = {
        "good-package": {"good": "goodplug:plugin", "plain": "goodplug:manifest", "odd": "goodplug:number"},
        "bad-package": {"bad": "badplug:plugin", "file": "pathplug:path"},
    }
    for package, names in entries.items():
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {target}" for name, target in names.items()]
        (info / "entry_points.txt").write_text("\n".join(["[toolkit.plugins]", *lines, ""]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    for module in ("goodplug", "badplug", "pathplug"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


def test_installed_plugins_load_and_broken_ones_are_named(packages: Path) -> None:
    with pytest.warns(PluginWarning) as caught:
        found = installed()
    assert sorted(found) == ["file", "good", "plain"]
    assert found["good"].tools["ONE"].run("", ()).text == "1"
    assert not found["plain"].tools
    messages = sorted(str(warning.message) for warning in caught)
    assert messages == [
        "plugin bad of package bad-package is left out: RuntimeError: no luck",
        "plugin odd of package good-package is left out: "
        "TypeError: goodplug:number is int, not a Plugin, a Manifest or a path",
    ]


@pytest.mark.parametrize(("value", "names"), [("0", []), ("", []), ("good, file", ["file", "good"])])
def test_the_environment_says_what_is_loaded(
    packages: Path, monkeypatch: pytest.MonkeyPatch, value: str, names: list[str], recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert sorted(installed()) == names
    assert not recwarn.list
    assert "badplug" not in sys.modules


def test_open_plugin_finds_builtin_path_and_installed(packages: Path) -> None:
    assert open_plugin("science").tools
    assert open_plugin(packages / "science.json").manifest == builtin()
    assert open_plugin("good").manifest.name == "Good"
    with pytest.raises(UserError, match="plugin bad of package bad-package: the installed plugin cannot be loaded"):
        open_plugin("bad")
    with pytest.raises(UserError, match="neither a manifest file nor a plugin here; give a path or one of: science, "):
        open_plugin("nowhere")
