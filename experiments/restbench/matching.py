"""Reads free text leniently: names, dates, numbers, yes or no, a choice between two, an honest "not available". All of
it is pure text work, the same for both services; what the right answer is, this file does not know.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date

_WORD = re.compile(r"[^\W_]+")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS) + "|sept"
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?!\d)")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(\d{{4}})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\.?\s*,?\s+(\d{{4}})\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w])|(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SENTENCE = re.compile(r"(?<=[a-z0-9)\"'][.!?;])\s+(?=[A-Z])|\n")  # not after an initial, as in "J. Doe"
# what a "not" denies: the four words after it, within its clause ("not only" denies nothing)
_DENIED = re.compile(
    r"(?:\b(?:not(?!\s+only\b)|never|neither|nor|except|other than|rather than|instead of)\b|n['’]t\b)"
    r"(?:\s+(?!but\b)[^\s,;:!?]*[^\s,;:!?.]){1,4}",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\b(?:or|either|maybe|perhaps|possibly|might)\b")
_NO = re.compile(r"\b(?:no|not|isn t|aren t|wasn t|don t|doesn t|didn t|neither|different|never)\b")
_YES = re.compile(r"\b(?:yes|is|are|was|were|does|do|did|both|same)\b")
_ABSTAIN = re.compile(
    r"\b(?:not (?:available|provided|listed|given|included|specified|found|known|possible|contain\w*|provide|include"
    r"|recorded|stated|return\w*|able)|no (?:founding|foundation|information|data|date|such|record|field)"
    r"|(?:can|could|does|do|did|is|was)(?: not|n t)|cannot|unable|unavailable|unknown|unanswerable|missing)\b"
)


def normalise(text: str) -> str:
    """Case-folded words without accents or punctuation, single spaces between: `Señor X!` becomes `senor x`."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in plain if not unicodedata.combining(c)).replace("&", " and ")
    return " ".join(_WORD.findall(plain.casefold()))


def mentioned(names: Sequence[str], text: str) -> list[tuple[int, str]]:
    """The names that occur in the text as whole words, as (position, name), each at its first place.

    Longer names are found first and their words used up, so "Avatar: The Way of Water" is no mention of "Avatar".
    A leading "The" of a name may be left out in the text.
    """
    first: dict[str, int] = {}
    for position, name in _occurrences(names, text):
        first.setdefault(name, position)
    return [(position, name) for name, position in first.items()]


def dates(text: str) -> set[date]:
    """All complete dates, in ISO, `3 May 1999`, `May 3rd, 1999` or slashed form (both readings of 3/5/1999)."""
    found: set[date | None] = {_date(y, m, d) for y, m, d in _ISO.findall(text)}
    for first, second, year in _SLASHED.findall(text):
        found |= {_date(year, first, second), _date(year, second, first)}
    found |= {_date(year, _month(name), day) for name, day, year in _MONTH_FIRST.findall(text)}
    found |= {_date(year, _month(name), day) for day, name, year in _DAY_FIRST.findall(text)}
    return {day for day in found if day is not None}


def without_dates(text: str) -> str:
    """The text with every complete date cut out, so that its digits count for nothing."""
    for pattern in (_ISO, _SLASHED, _MONTH_FIRST, _DAY_FIRST):
        text = pattern.sub(" ", text)
    return text


def without_denials(text: str) -> str:
    """The text without what it denies: "it is not X but Y" keeps Y, "X, not Y" keeps X."""
    return _DENIED.sub(" ", text)


def hedges(text: str) -> bool:
    """Whether the text leaves open which of several values it means."""
    return bool(_HEDGE.search(normalise(text)))


def numbers(text: str) -> list[float]:
    """Numbers in digits (`1,234`, `7.5`) and in words up to ninety-nine, outside complete dates."""
    text = without_dates(text)
    found = [float(hit.replace(",", "")) for hit in _NUMBER.findall(text)]
    words = normalise(text).split()
    for at, word in enumerate(words):
        if word in _SMALL and not (at and words[at - 1] in _TENS and 0 < _SMALL.index(word) < 10):
            found.append(float(_SMALL.index(word)))
        elif word in _TENS:
            unit = words[at + 1] if at + 1 < len(words) else ""
            extra = _SMALL.index(unit) if unit in _SMALL[1:10] else 0
            found.append(float(20 + 10 * _TENS.index(word) + extra))
    return found


def says_yes(text: str) -> bool | None:
    """True for a yes, False for a no, None when the text commits to neither (or to both)."""
    words = normalise(text)
    lead = {"yes": True, "true": True, "correct": True, "no": False, "false": False}.get(words.split(" ")[0])
    if lead is not None:
        other = r"\bno\b" if lead else r"\byes\b"
        return None if re.search(other, words.split(" ", 1)[-1]) and len(words.split()) < 4 else lead
    if re.search(r"\byes\b", words) and re.search(r"\bno\b", words):
        return None
    if _NO.search(words):
        return False
    return True if _YES.search(words) and len(words.split()) > 2 else None


def chosen(options: Sequence[str], text: str, more: Sequence[str], less: Sequence[str]) -> str | None:
    """Which option the text picks. `more` are the words that point to the winner ("higher"), `less` to the loser.

    One option mentioned: that one. Both: the option nearest before the first such word in its sentence (or, with
    none before it, the first after it). No such word: None, as the text picks nothing.
    """
    if len(mentioned(options, text)) == 1:
        return mentioned(options, text)[0][1]
    pattern = re.compile(rf"\b({'|'.join([*more, *less])})\b")
    for sentence in _SENTENCE.split(text):
        places = _occurrences(options, sentence)
        comparison = pattern.search(normalise(sentence))
        if not places or comparison is None:
            continue
        before = [name for position, name in places if position < comparison.start()]
        winner = before[-1] if before else places[0][1]
        if comparison.group(1) in more:
            return winner
        return next(name for name in options if name != winner)
    return None


def abstains(text: str) -> bool:
    """Whether the text says honestly that the answer is not to be had, without naming a date or year all the same."""
    return bool(_ABSTAIN.search(normalise(text))) and not dates(text) and not re.search(r"\b(1[5-9]|20)\d\d\b", text)


def content_words(text: str) -> set[str]:
    """The words of at least five letters: what a paraphrase still shares with its source."""
    return {word for word in normalise(text).split() if len(word) >= 5}


def _occurrences(names: Sequence[str], text: str) -> list[tuple[int, str]]:
    words = f" {normalise(text)} "
    forms = {normalise(name): name for name in names}
    for form, name in list(forms.items()):  # a whole name wins over one that only lacks its "The"
        forms.setdefault(form.removeprefix("the "), name)
    found: list[tuple[int, str]] = []
    for form in sorted(forms, key=lambda each: (-len(each), each)):
        while form and (at := words.find(f" {form} ")) >= 0:
            found.append((at, forms[form]))
            words = words[: at + 1] + "\0" * len(form) + words[at + 1 + len(form) :]
    return sorted(found)


def _month(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _date(year: str | int, month: str | int, day: str | int) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
