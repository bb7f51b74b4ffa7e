"""Write a tool as a Python function and give it to a model. Give another model as the first argument."""

from __future__ import annotations

import sys

from toolkit import Assistant, Plugin, Settings
from toolkit.plugins.plugin import NoResult

MODEL = sys.argv[1] if len(sys.argv) > 1 else "bundled:smollm2-135m-instruct"
PRICES = {"tea": 3, "coffee": 4, "cake": 5}

plugin = Plugin("Shop", "What things cost.")


@plugin.api(
    pattern=r"[a-z]{1,20}",
    examples=[
        ("What does tea cost?", "A tea costs [PRICE(tea) -> 3 euros] 3 euros."),
        ("How much is a coffee?", "A coffee costs [PRICE(coffee) -> 4 euros] 4 euros."),
    ],
)
def price(arguments: str) -> str:
    if arguments not in PRICES:
        raise NoResult(f"we have no {arguments}")
    return f"{PRICES[arguments]} euros"


if __name__ == "__main__":
    assistant = Assistant(MODEL, [plugin], Settings(tokens=40))
    for question in ("How much is a cake?", "What does milk cost?"):
        print(question, "->", assistant.ask(question).text.strip())
