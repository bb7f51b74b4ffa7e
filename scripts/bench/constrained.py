"""What constrained calls cost per decode step: time of masks inside and outside of calls, and of whole steps.

    python scripts/bench/constrained.py [--model bundled:smollm2-135m-instruct] [--rows 16] [--repeat 3]

Decodes the same questions with and without constraint. Prints JSON: seconds to compile the grammar and per step, and
microseconds per mask. Times are of the machine it runs on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from toolkit.calls.syntax import ARROW
from toolkit.decoding import Interceptor, Limits, Request
from toolkit.models.constrained_calls import CallGrammar
from toolkit.models.load import ModelSpec, load
from toolkit.plugins.compile import compile_plugins
from toolkit.plugins.examples import turn
from toolkit.plugins.science import science
from toolkit.plugins.toolbox import load_toolbox

PATTERNS = {"MATH": r"[0-9(-][0-9 .()+*/%^&|-]*", "DATE": "", "SEARCH": None}


def masks(grammar: CallGrammar, tokenizer: Any) -> dict[str, float]:
    """Median microseconds of a mask outside and inside of a call, over the tokens of a reply with a call."""
    times: dict[str, list[float]] = {"outside": [], "inside": []}
    for _ in range(50):
        constraint = grammar.constraint()
        for token in tokenizer.encode(" 12 * 34 is [MATH(12 * 34)", add_special_tokens=False):
            began = time.perf_counter()
            constraint.mask()
            times["outside" if constraint._inside is None else "inside"].append(time.perf_counter() - began)
            constraint.advance(token)
    return {place: 1e6 * statistics.median(seconds) for place, seconds in times.items()}


def step_seconds(interceptor: Interceptor, requests: Callable[[], list[Request]]) -> float:
    """Seconds per decode step of a batch: wall time over the tokens of its longest row."""
    began = time.perf_counter()
    replies = list(interceptor.run(requests()))
    return (time.perf_counter() - began) / max(sum(reply.source) for reply in replies)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="bundled:smollm2-135m-instruct")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    model, tokenizer = load(ModelSpec(name="model", path=options.model))
    plugin = science()
    interceptor = Interceptor(model, tokenizer, load_toolbox([plugin]), ARROW, slots=options.rows)
    began = time.perf_counter()
    grammar = CallGrammar(tokenizer, model.config.get_text_config().vocab_size, ARROW, PATTERNS)
    compiled = time.perf_counter() - began
    prefix = interceptor.prefix(compile_plugins([plugin.manifest]).ids(tokenizer))

    def requests(constrained: bool) -> list[Request]:
        prompts = [
            tokenizer.encode(turn(f"What is {n} * {n + 3}?"), add_special_tokens=False) for n in range(options.rows)
        ]
        constraint = grammar.constraint if constrained else None
        return [
            Request(f"{n}", prompt, prefix, limits=Limits(model_tokens=24), constraint=constraint)
            for n, prompt in enumerate(prompts)
        ]

    steps: dict[str, list[float]] = {"free": [], "constrained": []}
    for _ in range(options.repeat + 1):  # the first round warms up
        for name in steps:
            steps[name].append(step_seconds(interceptor, lambda name=name: requests(name == "constrained")))
    report = {
        "model": options.model,
        "rows": options.rows,
        "vocabulary": len(tokenizer),
        "compile_seconds": compiled,
        "mask_microseconds": masks(grammar, tokenizer),
        "step_seconds": {name: statistics.median(seconds[1:]) for name, seconds in steps.items()},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
