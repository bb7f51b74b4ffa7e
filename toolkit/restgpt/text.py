"""Small things done to the prose of a description before a prompt shows it."""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"<[a-zA-Z/][^<>]{0,200}>")
_LINK = re.compile(r"\[([^\[\]]{0,200})\]\([^()]{0,400}\)")
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[.!?](?=\s|$)")


def plain(text: str, longest: int = 2000) -> str:
    """One line without tags, links, entities or emphasis."""
    text = _TAG.sub(" ", text[:longest])
    text = html.unescape(_LINK.sub(r"\1", text)).replace("**", "").replace("`", "")
    return " ".join(text.split())


def first_sentence(text: str, longest: int = 160) -> str:
    """The first sentence of `plain(text)`, cut at a word boundary if it is longer than `longest` characters."""
    line = plain(text)
    end = _END.search(line)
    sentence = line[: end.start()] if end else line
    if len(sentence) <= longest:
        return sentence.strip()
    return sentence[:longest].rsplit(" ", 1)[0].rstrip(" ,;:") + " ..."
