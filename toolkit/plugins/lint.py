"""Everything there is to say about a manifest: all its errors, and what is legal but likely to go wrong.

Knows manifests, tokenizers by one method, and the toolbox for `live`; it prints nothing and exits nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from toolkit.calls.syntax import ARROW
from toolkit.plugins.examples import AI, GUEST, ExampleCall, example_calls, example_fragment
from toolkit.plugins.faults import Fault, Path, quote
from toolkit.plugins.fragment import Tokenizer
from toolkit.plugins.hints import nested_repeat, slow_text
from toolkit.plugins.manifest import Api, Manifest, Reading, read
from toolkit.tools.safety import safe_result
from toolkit.tools.toolbox import Toolbox

EXAMPLE_TOKENS = 100
CHARACTERS_PER_TOKEN = 4  # a rough guess, used only without a tokenizer


def lint(text: str, *, tokenizer: Tokenizer | None = None, budget: int = EXAMPLE_TOKENS) -> tuple[Reading, list[Fault]]:
    """What reading a manifest text gives, and its errors and warnings in the order of the text.

    `budget` is the number of tokens above which an example is called long; without a `tokenizer` it is an estimate.
    """
    reading = read(text)
    if reading.manifest is None:
        return reading, list(reading.faults)
    found = [*_names(reading.manifest), *_apis(reading.manifest, tokenizer, budget)]
    return reading, sorted([*reading.faults, *_placed(reading, found)], key=lambda fault: (fault.line, fault.column))


def live_faults(reading: Reading, toolbox: Toolbox) -> list[Fault]:
    """Call every example's calls through `toolbox`; a warning for each result that is not the example's.

    Calls of an API with history are left out: an example has none to send.
    """
    manifest = reading.manifest
    return [] if manifest is None else _placed(reading, _live(manifest, toolbox))


def _placed(reading: Reading, faults: Iterator[Fault] | list[Fault]) -> list[Fault]:
    return [reading.document.locate(replace(fault, level="warning")) for fault in faults]


def _names(manifest: Manifest) -> Iterator[Fault]:
    """Names that a model may take for one another; at most one warning for each."""
    names = list(manifest.apis)
    for index, name in enumerate(names):
        for other in names[:index]:
            if what := _alike(name, other):
                yield Fault(what, ("apis", name), fix="rename one of them")
                break


def _alike(name: str, other: str) -> str | None:
    """How two names may be taken for one another."""
    plain, rival = (re.sub(r"[^a-z0-9]", "", each.lower()) for each in (name, other))
    if plain == rival:
        return f"{name} and {other} differ in case or punctuation only"
    if plain.startswith(rival) or rival.startswith(plain):
        short, long = sorted((name, other), key=len)
        return f"{long} begins with {short}: a model may write the shorter one"
    return None


def _apis(manifest: Manifest, tokenizer: Tokenizer | None, budget: int) -> Iterator[Fault]:
    for name, api in manifest.apis.items():
        path: Path = ("apis", name)
        called = {call.name for _, answer in api.examples for call in example_calls(answer)}
        if name not in called:
            yield Fault(f"no example of {name} calls it", path, fix="add one; a model learns from it")
        if api.url.startswith("http://") and "//127.0.0.1" not in api.url and "//localhost" not in api.url:
            yield Fault("the address is not encrypted", (*path, "url"), fix="use https")
        yield from _pattern(api, (*path, "pattern"))
        for index, (question, answer) in enumerate(api.examples):
            yield from _example(question, answer, (*path, "examples", index), tokenizer, budget)


def _pattern(api: Api, path: Path) -> Iterator[Fault]:
    if api.pattern is None:
        return
    fix = "rewrite it so that each text can match in one way only"
    samples = [call.arguments for _, answer in api.examples for call in example_calls(answer)]
    if nested := nested_repeat(api.pattern):
        yield Fault(f"{quote(nested)} repeats within a repeat: matching may take exponential time", path, fix=fix)
    elif text := slow_text(api.pattern, samples):
        yield Fault(f"matching is slow on {quote(text, 24)} ({len(text)} characters)", path, fix=fix)


def _example(question: str, answer: str, path: Path, tokenizer: Tokenizer | None, budget: int) -> Iterator[Fault]:
    for index, text in enumerate((question, answer)):
        if text != text.strip():
            yield Fault("the text begins or ends with a space", (*path, index), fix="remove it")
        if GUEST in text or AI in text:
            yield Fault(f"the text holds {GUEST} or {AI}", (*path, index), fix="the compiler writes these")
    for call in example_calls(answer):
        if call.result is not None and (safe := safe_result(call.result, ARROW)) != call.result:
            what = f"the result {quote(call.result)} would be injected as {quote(safe)}"
            yield Fault(what, (*path, 1), fix="write it so")
    fragment = example_fragment(question, answer)
    estimate = -(-len(fragment.text) // CHARACTERS_PER_TOKEN)
    count = estimate if tokenizer is None else len(fragment.ids(tokenizer))
    if count > budget:
        about = "about " if tokenizer is None else ""
        yield Fault(f"the example takes {about}{count} tokens, over {budget}", path, fix="shorten it")


def _live(manifest: Manifest, toolbox: Toolbox) -> Iterator[Fault]:
    for name, api in manifest.apis.items():
        for index, (_, answer) in enumerate(api.examples):
            for call in example_calls(answer):
                if manifest.apis[call.name].history == 0:
                    yield from _compare(call, toolbox, ("apis", name, "examples", index, 1))


def _compare(call: ExampleCall, toolbox: Toolbox, path: Path) -> Iterator[Fault]:
    outcome = toolbox.run(call.name, call.arguments)
    shown = f"{call.name}({call.arguments})"
    if not outcome.ok:
        yield Fault(f"{quote(shown)} fails: {outcome.status}: {outcome.text}", path, fix="see whether the API is up")
    elif safe_result(outcome.text, ARROW) != (call.result or ""):
        what = f"{quote(shown)} gives {quote(safe_result(outcome.text, ARROW))}, the example says {quote(call.result)}"
        yield Fault(what, path, fix="correct the example or the API")
