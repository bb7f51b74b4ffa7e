"""Makes a tool's result safe to write into a prompt.

A result comes from a server or a table that nobody vouches for. Inside a prompt it must stay what it is, the text
between two marks: it may not close the call, start a line, forge a turn or spell a tokenizer's special token. This file
knows nothing of tools and models; a cap in tokens is the injector's business.
"""

from __future__ import annotations

import re
import unicodedata

from toolkit.calls.syntax import Syntax

RESULT_CHARACTERS = 400
CUT = "..."
JOINERS = "\u200c\u200d"  # needed by several scripts and by emoji; neither breaks a line nor reorders text
BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
TAG = re.compile(r"<(?=(?:\s|\\|/|!)*[A-Za-z_|])([^<>]{1,64})>")
BRACKETS = str.maketrans("[]", "()")


def safe_result(text: str, syntax: Syntax, limit: int = RESULT_CHARACTERS) -> str:
    """One line of at most `limit` characters that cannot leave its place in a call written in `syntax`.

    Control, format and unassigned characters and every kind of line break become single spaces. Anything that looks
    like a tag (`<Guest>`, `<|im_end|>`, `</s>`) is written in parentheses, and so are square brackets, which open and
    close calls. What remains of the syntax's own closing mark is taken out. A cut result ends in `...`.
    """
    window = text[: 16 * limit]
    line = " ".join("".join(" " if _is_blank(char) else char for char in window).split())
    line = TAG.sub(r"(\1)", line).translate(BRACKETS)
    line = line.replace("<|", "(").replace("|>", ")")
    for mark in (syntax.closer.strip(), syntax.opener.strip()):
        while mark and mark in line:
            line = " ".join(line.replace(mark, " ").split())
    if len(line) > limit or len(window) < len(text):
        line = line[: max(limit - len(CUT), 0)].rstrip() + CUT[:limit]
    return line


def _is_blank(char: str) -> bool:
    return char not in JOINERS and unicodedata.category(char) in BLANK_CATEGORIES
