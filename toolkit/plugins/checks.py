"""What the shape of a manifest cannot say: addresses, patterns, and whether each example is what it claims to be.

Works on the raw value, of whatever type its parts are, so that these faults are found beside those of shape. Knows
nothing of prompts or models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import regex

from toolkit.errors import UserError
from toolkit.plugins.examples import FORM, ExampleCall, ExampleFault, parse_answer
from toolkit.plugins.faults import Fault, Path, quote
from toolkit.tools.toolbox import PATTERN_SECONDS, compile_pattern

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def check(value: Any) -> list[Fault]:
    """Every fault of meaning in a raw manifest; parts of the wrong type are passed over."""
    apis = value.get("apis") if isinstance(value, dict) else None
    if not isinstance(apis, dict):
        return []
    known = {str(name): api for name, api in apis.items() if isinstance(api, dict)}
    patterns: dict[str, regex.Pattern[str]] = {}
    faults: list[Fault] = []
    for name, api in known.items():
        faults += _check_url(api.get("url"), ("apis", name, "url"))
        faults += _check_pattern(name, api.get("pattern"), patterns)
    for name, api in known.items():
        for path, text, is_answer in _texts(name, api.get("examples")):
            faults += _check_line(text, path)
            if is_answer and not CONTROL.search(text):
                faults += _check_answer(text, path, known, patterns)
    return faults


def _check_url(url: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine or CONTROL.search(url) or " " in url:
        yield Fault(f"{quote(url)} is not an http(s) address", path, fix="write https://host/path")
    elif parts.username is not None or parts.password is not None:
        yield Fault("the address holds a user or password", path, fix="keep secrets in the environment")


def _check_pattern(name: str, pattern: Any, patterns: dict[str, regex.Pattern[str]]) -> Iterator[Fault]:
    if not isinstance(pattern, str):
        return
    try:
        patterns[name] = compile_pattern(pattern, name)
    except UserError as error:
        yield Fault(error.what, ("apis", name, "pattern"), fix=error.fix)


def _texts(name: str, examples: Any) -> Iterator[tuple[Path, str, bool]]:
    """Questions and answers that are texts, with their places."""
    for index, example in enumerate(examples if isinstance(examples, list | tuple) else ()):
        for part, text in enumerate(example[:2] if isinstance(example, list | tuple) else ()):
            if isinstance(text, str):
                yield ("apis", name, "examples", index, part), text, part == 1


def _check_line(text: str, path: Path) -> Iterator[Fault]:
    if found := CONTROL.search(text):
        what = "a line break" if found.group() in "\n\r\x85\u2028\u2029" else f"the control character {found.group()!r}"
        yield Fault(f"the text holds {what}", path, fix="write it on one line")


def _check_answer(
    answer: str, path: Path, apis: Mapping[str, Mapping[str, Any]], patterns: dict[str, regex.Pattern[str]]
) -> Iterator[Fault]:
    try:
        calls = [piece for piece in parse_answer(answer, apis) if isinstance(piece, ExampleCall)]
    except ExampleFault as fault:
        yield Fault(str(fault), path, fix=FORM)
        return
    for call in calls:
        api = apis.get(call.name)
        if api is None:
            yield Fault(f"the call names {call.name}, which is no API of this plugin", path, fix=_names(apis))
        elif api.get("arguments") is False and call.arguments:
            yield Fault(f"{call.name} takes no arguments", path, fix=f"write [{call.name}() -> result]")
        elif call.name in patterns:
            yield from _check_match(call, patterns, path)


def _check_match(call: ExampleCall, patterns: dict[str, regex.Pattern[str]], path: Path) -> Iterator[Fault]:
    """Match the arguments. A pattern that was too slow once is not tried again: there may be thousands of examples."""
    try:
        if patterns[call.name].fullmatch(call.arguments, timeout=PATTERN_SECONDS):
            return
        what = f"the arguments {quote(call.arguments)} do not match the pattern of {call.name}"
    except TimeoutError:
        del patterns[call.name]
        what = f"matching {quote(call.arguments)} against the pattern of {call.name} took over {PATTERN_SECONDS} s"
    yield Fault(what, path, fix="correct the example or the pattern")


def _names(apis: Mapping[str, Any]) -> str:
    shown = ", ".join(list(apis)[:8])
    return f"the APIs are: {shown}" if shown else "add the API"
