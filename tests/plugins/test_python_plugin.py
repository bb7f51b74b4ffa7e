"""Plugins written in Python, and the toolbox of any set of plugins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolkit.errors import UserError
from toolkit.plugins.manifest import builtin, validate
from toolkit.plugins.plugin import CRASHED, LocalPlugin, NoResult, Plugin
from toolkit.plugins.science import science
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.builtin import builtin as builtin_tools
from toolkit.tools.outcome import Outcome, Turn

PAIR = [("q", "a [UP(x) -> X] X")]


def sample() -> Plugin:
    plugin = Plugin("Sample", "d")

    @plugin.api(pattern="[a-z!]+", examples=PAIR)
    def up(arguments: str) -> str:
        if arguments == "none":
            raise NoResult("nothing\nhere")
        if arguments == "crash":
            raise KeyError("secret")
        return arguments.upper()

    @plugin.api(name="Two", examples=[])
    def two() -> int:
        return 2

    @plugin.api(history=2, examples=[])
    def last(arguments: str, history: Sequence[Turn]) -> str:
        return arguments + "/" + "|".join(turn.text for turn in history)

    return plugin


def run(name: str, arguments: str, history: Sequence[Turn] = ()) -> tuple[str, str]:
    plugin = sample()
    outcome = load_toolbox([LocalPlugin(plugin.manifest(), plugin.tools)]).run(name, arguments, history)
    return outcome.status, outcome.text


def test_decorated_functions_become_a_manifest() -> None:
    manifest = sample().manifest("https://example.tld/base/")
    shown = {name: (api.url, api.arguments, api.history, api.pattern) for name, api in manifest.apis.items()}
    assert shown == {
        "UP": ("https://example.tld/base/api/UP", True, 0, "[a-z!]+"),
        "Two": ("https://example.tld/base/api/Two", False, 0, None),
        "LAST": ("https://example.tld/base/api/LAST", True, 2, None),
    }
    assert manifest.apis["UP"].examples == (("q", "a [UP(x) -> X] X"),)


def test_functions_run_as_tools() -> None:
    assert run("UP", "ab") == ("ok", "AB")
    assert run("UP", "AB")[0] == "refused"
    assert run("UP", "none") == ("error", "nothing here")
    assert run("UP", "crash") == ("error", CRASHED)
    assert run("Two", "") == ("ok", "2")
    assert run("Two", "3")[0] == "refused"
    assert run("NO", "")[0] == "unknown"
    turns = [Turn("user", text) for text in "abc"]
    assert run("LAST", "x", turns) == ("ok", "x/b|c")


def test_wrong_functions_and_names_are_the_authors_mistake() -> None:
    plugin = Plugin("P", "d")
    with pytest.raises(UserError, match="take none, one or both"):
        plugin.api(examples=[])(lambda a, b, c: "")
    with pytest.raises(UserError, match="history=1 with 1 parameters"):
        plugin.api(examples=[], history=1, name="A")(lambda arguments: "")
    plugin.api(examples=[], name="A")(lambda: "")
    with pytest.raises(UserError, match="two APIs named A"):
        plugin.api(examples=[], name="A")(lambda: "")
    plugin.api(examples=[("q", "[B(1) -> 2]")], name="C")(lambda: "")
    with pytest.raises(UserError, match=r"plugin P apis\.C\.examples\[0\]\[1\]: the call names B"):
        plugin.manifest()


def test_builtin_plugin_runs_here() -> None:
    toolbox = load_toolbox([science()])
    assert toolbox.run("MATH", "123 ^ 456").text == "435"
    assert toolbox.run("SEARCH", "earth population").text == "7.888 billion (2021)"
    assert toolbox.inline("MATH")
    assert load_toolbox([builtin()], builtin_tools()).names == ("SEARCH", "DATE", "MATH")


def test_every_api_without_a_tool_is_an_endpoint() -> None:
    toolbox = load_toolbox([builtin()], {"MATH": builtin_tools()["MATH"]})
    assert toolbox.inline("MATH")
    assert not toolbox.inline("SEARCH")
    local = {"url": "http://127.0.0.1:9/", "arguments": True}
    manifest = validate({"plugin_api_version": 0, "name": "L", "description": "", "apis": {"L": local}})
    assert load_toolbox([manifest]).run("L", "x") == Outcome(
        "refused", "127.0.0.1 is at 127.0.0.1, which is not a public address", pytest.approx(0, abs=100)
    )


def test_names_must_be_known_and_distinct() -> None:
    with pytest.raises(UserError, match="MUTH, which is no API"):
        load_toolbox([builtin()], {"MUTH": builtin_tools()["MATH"]})
    with pytest.raises(UserError, match="offered by two plugins"):
        load_toolbox([builtin(), science()])
    assert load_toolbox([]).run("A", "").status == "unknown"


def test_the_example_script_runs() -> None:
    script = Path(__file__).resolve().parents[2] / "examples" / "serve_plugin.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[AGE(cat 5) ok: 30]",
        "[PETS() ok: cat, dog, rabbit]",
        "[AGE(horse 2) error: nothing is known about a horse]",
        "[AGE(five cats) refused: the argument does not match the pattern of AGE]",
    ]
