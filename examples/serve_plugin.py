"""A plugin in Python: decorated functions become APIs. Serve it with `toolkit plugin serve serve_plugin:plugin`.

The built-in calculator, date and search are served the same way: `toolkit plugin serve toolkit.plugins.science:plugin`.
Run as a script, this file calls its own plugin in this process, without a server.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolkit.plugins.plugin import LocalPlugin, NoResult, Plugin
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.outcome import Turn

plugin = Plugin("Pets", "How old a pet is in human years, and what was said about it before.")
YEARS = {"dog": 7, "cat": 6, "rabbit": 8}


@plugin.api(
    pattern=r"[a-z]{1,20} [0-9]{1,3}",
    examples=[("How old is a dog of 3 years?", "In human years it is [AGE(dog 3) -> 21] 21.")],
)
def age(arguments: str) -> int:
    animal, years = arguments.split()
    if animal not in YEARS:
        raise NoResult(f"nothing is known about a {animal}")
    return YEARS[animal] * int(years)


@plugin.api(examples=[("Which pets do you know?", "I know [PETS() -> cat, dog, rabbit] cats, dogs and rabbits.")])
def pets() -> str:
    return ", ".join(sorted(YEARS))


@plugin.api(
    history=4, examples=[("What did I ask first?", "You asked: [FIRST() -> How old is a dog?] How old is a dog?")]
)
def first(arguments: str, history: Sequence[Turn]) -> str:
    asked = [turn.text for turn in history if turn.role == "user"]
    if not asked:
        raise NoResult("nothing was asked yet")
    return asked[0]


if __name__ == "__main__":
    toolbox = load_toolbox([LocalPlugin(plugin.manifest(), plugin.tools)])
    for name, text in [("AGE", "cat 5"), ("PETS", ""), ("AGE", "horse 2"), ("AGE", "five cats")]:
        outcome = toolbox.run(name, text)
        print(f"[{name}({text}) {outcome.status}: {outcome.text}]")
