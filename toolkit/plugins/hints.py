"""Whether matching an argument pattern can take exponential time: a static check and a tried one.

A first look finds an unbounded repeat inside another one; a second look matches hostile texts with a time limit. Both
are hints: the toolbox stops a slow match in any case. Knows nothing of manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import regex

PROBE_SECONDS = 0.1
PROBE_LENGTH = 2000
MAX_PROBES = 40

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!]|P?<\w+>|[a-zA-Z-]+[:)])?|.", re.DOTALL)
_REPEAT = re.compile(r"[*+]|\{(\d*)(,?)(\d*)\}")


def nested_repeat(pattern: str) -> str | None:
    """The first group that repeats without bound around an unbounded repeat, e.g. `(a+)*`; None when there is none."""
    stack: list[tuple[int, bool]] = []  # where a group starts, and whether it holds an unbounded repeat
    holds, last, at = False, (0, False), 0
    while at < len(pattern):
        if (repeat := _REPEAT.match(pattern, at)) and at > 0:
            end = repeat.end()
            possessive = pattern[end : end + 1] == "+"
            if _unbounded(repeat) and not possessive:
                if last[1]:
                    return pattern[last[0] : end]
                holds = True
            at, last = end + (pattern[end : end + 1] in ("+", "?")), (at, False)
            continue
        token = _TOKEN.match(pattern, at)
        assert token
        start, at = at, token.end()
        last = (start, False)
        if token.group().startswith("(") and not token.group().endswith(")"):
            stack.append((start, holds))
            holds = False
        elif token.group() == ")" and stack:
            opened, outer = stack.pop()
            last, holds = (opened, holds and not pattern.startswith("(?>", opened)), outer or holds
    return None


def _unbounded(repeat: re.Match[str]) -> bool:
    return repeat.group() in ("*", "+") or (repeat.group(2) == "," and not repeat.group(3))


def slow_text(pattern: str, samples: Iterable[str]) -> str | None:
    """A text on which a full match takes more than `PROBE_SECONDS`, or None. `samples` are texts that do match."""
    compiled = regex.compile(pattern)
    for text in _hostile(pattern, samples):
        try:
            compiled.fullmatch(text, timeout=PROBE_SECONDS)
        except TimeoutError:
            return text
    return None


def _hostile(pattern: str, samples: Iterable[str]) -> Iterator[str]:
    """Long repeats of what the pattern seems to like, each with an end that it should not."""
    letters = [token.group()[-1] for token in _TOKEN.finditer(pattern) if token.group()[-1].isalnum()]
    units = dict.fromkeys([*samples, *letters, "a", "0", " ", "a0", "a ", "a."])
    for unit in [unit for unit in units if unit][:MAX_PROBES]:
        yield (unit * (PROBE_LENGTH // len(unit) + 1))[:PROBE_LENGTH] + "\x00"
