"""What a reply is worth: three scorers and one outcome class, from the stored sample alone.

`paper` reads the last token as the original did, an unparseable one as 0; `strict` reads the last number (or words)
after the last call; `call` asks whether some call returned the truth. Protocol: faults F1 and F11. Works for any suite
and runs no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from experiments.records import Sample
from experiments.suites.suite import Skill, identify
from toolkit.calls.syntax import ARROW, SYNTAXES, Syntax

NUMBER = re.compile(r"(?<![\w.])(?:(?<![\d)] )[-−])?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
MAX_DIGITS = 4000  # Python itself refuses to read longer integers
WHOLE = re.compile(r"[+-]?\d{1,4000}")
BUDGET = frozenset({"tokens", "calls", "context", "time"})
OUTCOMES = (
    "right_by_call",
    "right_without_call",
    "right_call_wrong_answer",
    "wrong_operator",
    "wrong_operands",
    "malformed_call",
    "unknown_api",
    "tool_error",
    "no_call",
    "cut_by_budget",
)


class Verdict(NamedTuple):
    """What a scorer read from a reply (None: nothing) and whether that is right."""

    answer: str | None
    passed: bool


def syntax_of(variant: str) -> Syntax:
    """The syntax in a variant's name (`strict-equals` -> equals); arrow where it names none."""
    return next((SYNTAXES[part] for part in variant.split("-") if part in SYNTAXES), ARROW)


def same_value(one: str, other: str) -> bool:
    """Equal as numbers where both are numbers, else equal as words."""
    left, right = _number(one), _number(other)
    if left is not None and right is not None:
        return left == right
    return _words(one) == _words(other)


def paper(sample: Sample) -> Verdict:
    """The original's scorer: last token after its replacements; what is no integer counts as 0 (F1).

    Where the truth is no integer there is no such accident: the last token must equal the truth's last token.
    """
    text = sample["text"].strip()
    for mark in (".", "=", "->", "]"):
        text = text.replace(mark, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    token = text.strip(" ").split(" ")[-1].strip()
    truth = sample["truth"]
    if not WHOLE.fullmatch(truth):
        return Verdict(token or None, bool(token) and same_value(token, truth.replace(".", " ").split()[-1]))
    try:
        answer = int(token[:MAX_DIGITS])
    except ValueError:
        return Verdict(None, int(truth) == 0)
    return Verdict(token, answer == int(truth))


def strict(sample: Sample) -> Verdict:
    """The last number after the last call, or as many last words as the truth has; nothing read is wrong."""
    text, truth = after_last_call(sample), sample["truth"]
    if _number(truth) is not None:
        numbers = NUMBER.findall(text)
        if not numbers:
            return Verdict(None, False)
        answer = numbers[-1].replace(",", "").replace("−", "-")
        return Verdict(answer, same_value(answer, truth))
    words = _words(text)[-len(_words(truth)) :]
    return Verdict(" ".join(words) or None, words == _words(truth))


def call(sample: Sample) -> Verdict:
    """Whether some call returned the truth, whatever the model wrote after it."""
    results = [entry["result"] for entry in sample["calls"] if entry["status"] == "ok"]
    right = [result for result in results if same_value(result, sample["truth"])]
    return Verdict(right[0] if right else (results[-1] if results else None), bool(right))


SCORERS: Mapping[str, Callable[[Sample], Verdict]] = {"paper": paper, "strict": strict, "call": call}


def judge(sample: Sample, skills: Sequence[Skill], scorers: Sequence[str] = tuple(SCORERS)) -> None:
    """Set `scores`, `answer`, `outcome` and `called` of a sample; scores by other scorers stay."""
    verdicts = {name: scorer(sample) for name, scorer in SCORERS.items()}
    own = "paper" if sample["variant"].startswith("paper") else "strict"
    scores = {name: value for name, value in sample.get("scores", {}).items() if name not in scorers}
    sample["scores"] = scores | {name: verdicts[name].passed for name in scorers}
    sample["answer"] = verdicts[own].answer
    sample["outcome"], called = outcome(sample, skills)
    sample.pop("called", None)
    if called is not None:
        sample["called"] = called


def outcome(sample: Sample, skills: Sequence[Skill]) -> tuple[str, str | None]:
    """(outcome class, skill called or None). Right or wrong is by the strict reading, for every variant.

    Classes are tried in a fixed order, so each sample has exactly one. Of several calls the last one counts, unless an
    earlier one returned the truth.
    """
    right, by_call = strict(sample).passed, call(sample).passed
    called = _called(sample, skills)
    if right:
        return ("right_by_call" if by_call else "right_without_call"), called
    if by_call:
        return "right_call_wrong_answer", called
    if sample["calls"] and not _open_call(sample):
        return _wrong_call(sample, skills), called
    if sample["finish"] in BUDGET:
        return "cut_by_budget", called
    return ("malformed_call" if _attempted(sample) else "no_call"), called


def _wrong_call(sample: Sample, skills: Sequence[Skill]) -> str:
    """The class of a sample whose last call did not return the truth."""
    last, expect = sample["calls"][-1], sample["expect"]
    if last["status"] == "unknown":
        return "unknown_api"
    asked = identify(skills, expect["api"], expect["arguments"])
    found = identify(skills, last["name"], last["arguments"])
    if last["name"] != expect["api"] or (found and asked and found[0] != asked[0]):
        return "wrong_operator"
    if last["status"] != "ok":
        return "tool_error"
    return "wrong_operands"


def _called(sample: Sample, skills: Sequence[Skill]) -> str | None:
    """The skill that the deciding call used, its API where it fits no skill, None without a call."""
    if not sample["calls"]:
        return None
    right = [entry for entry in sample["calls"] if same_value(entry["result"], sample["truth"])]
    entry = (right or sample["calls"])[-1]
    found = identify(skills, entry["name"], entry["arguments"])
    return found[0] if found else entry["name"]


def after_last_call(sample: Sample) -> str:
    """The reply's text behind the closing mark of its last call; the whole text where there is none."""
    if not sample["calls"]:
        return sample["text"]
    rest = sample["text"].encode()[sample["calls"][-1]["end"] :].decode("utf-8", "replace")
    return rest.partition(syntax_of(sample["variant"]).closer)[2]


def _open_call(sample: Sample) -> bool:
    """Whether the reply ends inside a call that its budget cut."""
    syntax, rest = syntax_of(sample["variant"]), after_last_call(sample)
    return sample["finish"] in BUDGET and rest.count(syntax.opener) > rest.count(syntax.closer)


def _attempted(sample: Sample) -> bool:
    """Whether the model wrote something that was meant as a call."""
    opener = re.escape(syntax_of(sample["variant"]).opener)
    return re.search(rf"{opener}\s*[A-Za-z_]", after_last_call(sample)) is not None


@lru_cache(maxsize=1024)
def _number(text: str) -> Decimal | None:
    cleaned = text.strip().replace(",", "").replace("−", "-")
    if len(cleaned) > 4000 or not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", cleaned):
        return None
    try:
        return Decimal(cleaned)
    except InvalidOperation:
        return None


def _words(text: str) -> list[str]:
    words = (word.strip(".,;:!?\"'()[]<>").casefold() for word in text.split())
    return [word for word in words if word]
