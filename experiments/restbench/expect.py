"""The forms that a right answer may take, and the judge that holds an answer and an HTTP log against them. Shared by
both services. Each form reads the text leniently but is strict on three points: enough right values, few wrong ones
beside them (an answer that names everything names nothing), and every value counted was shown by a response.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from experiments.restbench import matching
from experiments.restbench.oracle import Evidence, HttpLog, Leaf, Seen, Verdict

LONGEST_ANSWER = 6000  # characters; a longer text is a dump of responses, not an answer
SHORT_ANSWER = 300  # characters; a shorter text is never taken for a dump
FEW, MANY = 25, 80  # values of the responses that an answer may repeat: to ask for one thing, for a list
MOST_KEYS = 8  # JSON keys in an answer; one with more quotes a response instead of answering
_KEY = re.compile(r'"[\w.]+"\s*:')
_PATH = re.compile(r"/([A-Za-z0-9]{20,})(?:\.(?:jpg|png|svg))?")


class Form(Protocol):
    """One form of a right answer."""

    @property
    def breadth(self) -> int:
        """How many different values of the responses an answer may repeat."""

    def fault(self, answer: str, seen: Seen) -> str | None:
        """What is wrong with the answer, None when nothing is."""


@dataclass(frozen=True)
class Expected:
    """One acceptable answer: its form, and what the responses must have shown for it to be known and not guessed."""

    form: Form
    evidence: tuple[Evidence, ...] = ()

    def fault(self, answer: str, seen: Seen) -> str | None:
        """What is wrong with the answer or missing in the responses, None when nothing is."""
        missing = seen.missing(self.evidence)
        return self.form.fault(answer, seen) or (f"no response showed {missing}" if missing else None)


def judge(acceptable: Sequence[Expected], log: HttpLog, answer: str) -> Verdict:
    """Right if any of the acceptable answers is given and grounded. The reason of a failure is that of the first."""
    if not answer.strip():
        return Verdict(False, "the answer is empty")
    if len(answer) > LONGEST_ANSWER or len(_KEY.findall(answer)) > MOST_KEYS:
        return Verdict(False, "the answer pours out responses")
    seen = Seen(log)
    repeated = seen.repeated(answer) if len(answer) > SHORT_ANSWER else 0
    faults = []
    for expected in acceptable:
        fault = expected.fault(answer, seen)
        if fault is None and repeated > expected.form.breadth:
            fault = f"right, but among {repeated} values of the responses"
        if fault is None:
            return Verdict(True, "right and grounded")
        faults.append(fault)
    return Verdict(False, faults[0] if faults else "no answer is right in this world")


@dataclass(frozen=True)
class Names:
    """At least `need` of `values` by name, at most `spare` of `rivals` (names of the same kind that would be wrong)."""

    values: tuple[str, ...]
    need: int = 1
    rivals: tuple[str, ...] = ()
    spare: int = 2

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW if self.need == 1 else MANY

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        right = {matching.normalise(value) for value in self.values}
        wrong = [name for name in self.rivals if matching.normalise(name) not in right]
        said = matching.without_denials(answer)
        named = {name for _, name in matching.mentioned([*self.values, *wrong], said)}
        hits = named & set(self.values)
        shown = {name for name in hits if seen.shows(Leaf(name))}
        if len(hits) < self.need:
            return f"names {len(hits)} of {self.need} needed, e.g. {self.values[0] if self.values else 'none'}"
        if len(shown) < self.need:
            return f"no response showed {sorted(hits - shown)[0]}"
        extra = named - hits
        if extra and self.need == 1 and matching.hedges(said):
            return f"leaves open whether it is {sorted(hits)[0]} or {sorted(extra)[0]}"
        return f"names {len(extra)} others, e.g. {sorted(extra)[0]}" if len(extra) > self.spare else None


@dataclass(frozen=True)
class Paths:
    """At least `need` of these picture paths (bare or within a URL), and at most one other path."""

    values: tuple[str, ...]
    need: int = 1

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        stems = {value.strip("/").split(".")[0]: value for value in self.values}
        given = set(_PATH.findall(answer))
        hits = [stems[stem] for stem in given & set(stems)]
        if sum(seen.shows(Leaf(path)) for path in hits) < self.need:
            return (
                f"gives {len(hits)} of {self.need} picture paths needed" if len(hits) < self.need else "path not shown"
            )
        return "gives paths of other pictures" if len(given - set(stems)) > 1 else None


@dataclass(frozen=True)
class Dates:
    """At least `need` of these days as complete dates, and few other dates."""

    days: tuple[str, ...]
    need: int = 1
    spare: int = 2

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW if self.need == 1 else MANY

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        wanted = {date.fromisoformat(day) for day in self.days}
        said = matching.without_denials(answer)
        given = matching.dates(said)
        hits = given & wanted
        if len(hits) < self.need:
            return f"gives {len(hits)} of {self.need} dates needed, e.g. {self.days[0]}"
        if sum(seen.shows(Leaf(day.isoformat())) for day in hits) < self.need:
            return "a date that no response showed"
        # A slashed date has two readings; the wrong one of a right date is no other date.
        swapped = {f"{day.year}-{day.day:02d}-{day.month:02d}" for day in hits}
        others = {day for day in given - wanted if day.isoformat() not in swapped}
        if others and self.need == 1 and matching.hedges(said):
            return "leaves open which date it is"
        return f"gives {len(others)} other dates" if len(others) > self.spare else None


@dataclass(frozen=True)
class Number:
    """The number, and at most `spare` other numbers beside those of the question."""

    value: float
    question: str = ""
    spare: int = 3

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        said = matching.without_denials(answer)
        given = set(matching.numbers(said))
        if self.value not in given:
            return f"does not give {self.value:g}"
        others = given - {self.value} - set(matching.numbers(self.question))
        if others and matching.hedges(said):
            return "leaves open which number it is"
        return f"gives {len(others)} other numbers" if len(others) > self.spare else None


@dataclass(frozen=True)
class Verbatim:
    """A text (an address, a code) letter by letter but for case."""

    value: str

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        if self.value.casefold() not in matching.without_denials(answer).casefold():
            return f"does not give {self.value}"
        return None if seen.shows(Leaf(self.value)) else f"no response showed {self.value}"


@dataclass(frozen=True)
class Gist:
    """A retelling: shares at least `share` (and three) of the long words of the text that are not in the question."""

    text: str
    question: str
    share: float = 0.4

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        words = matching.content_words(self.text) - matching.content_words(self.question)
        common = words & matching.content_words(answer)
        if len(common) < max(3, self.share * len(words)):
            return f"shares {len(common)} of {len(words)} words with the text"
        return None if seen.shows(Leaf(self.text)) else "no response showed the text"


@dataclass(frozen=True)
class Quotes:
    """At least `need` of these texts, each known by its author or by one sentence of five words quoted from it."""

    texts: tuple[tuple[str, str], ...]  # (author, content)
    need: int = 1

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        hits = [content for author, content in self.texts if _quotes(answer, author, content)]
        if len(hits) < self.need:
            return f"gives {len(hits)} of {self.need} reviews needed"
        shown = sum(seen.shows(Leaf(content)) for content in hits)
        return None if shown >= self.need else "a review that no response showed"


def _quotes(answer: str, author: str, content: str) -> bool:
    given = f" {matching.normalise(answer)} "
    sentences = [matching.normalise(sentence) for sentence in re.split(r"(?<=[.!?])\s", content)]
    long = [sentence for sentence in sentences if len(sentence.split()) >= 5]
    return f" {matching.normalise(author)} " in given or any(f" {sentence} " in given for sentence in long)


@dataclass(frozen=True)
class YesNo:
    """A clear yes or a clear no."""

    yes: bool

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        said = matching.says_yes(answer)
        if said is None:
            return "says neither yes nor no"
        return None if said == self.yes else f"says {'yes' if said else 'no'}"


@dataclass(frozen=True)
class Pick:
    """The right one of two options; `more` and `less` are the comparing words that point to and away from it."""

    right: str
    wrong: str
    more: tuple[str, ...]
    less: tuple[str, ...]

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        said = matching.chosen([self.right, self.wrong], answer, self.more, self.less)
        return None if said == self.right else f"picks {said}"


@dataclass(frozen=True)
class Absent:
    """An honest statement that the service does not have the answer."""

    @property
    def breadth(self) -> int:
        """See Form."""
        return FEW

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        return None if matching.abstains(answer) else "does not say that the answer is not to be had"


@dataclass(frozen=True)
class Both:
    """Two forms at once."""

    first: Form
    second: Form

    @property
    def breadth(self) -> int:
        """See Form."""
        return max(self.first.breadth, self.second.breadth)

    def fault(self, answer: str, seen: Seen) -> str | None:
        """See Form."""
        return self.first.fault(answer, seen) or self.second.fault(answer, seen)
