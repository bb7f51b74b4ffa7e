"""Constrained calls: from the moment a row has written a call's opening mark, only a call that exists can follow.

Outside of a call the model writes freely. Once the opening mark stands (`[` in the arrow syntax), the API's name must
be a known one, the arguments must match its `pattern`, and the marks must be right, up to the mark that closes the
arguments. Tokens need not end where these parts do: a token that holds the opening mark and more (` [MATH`) is allowed
only if a call begins with the rest, inside a call every token must keep it one, and a token that goes on after the
closing mark is not allowed at all, so a call ends at a token boundary, as it does in the compiled examples.

The grammar of all calls is compiled once by llguidance and copied for each call; see `structured.py` for why that
library. Patterns are read in its dialect, that of Rust: no look-around, no back-references. Knows nothing of the decode
loop. A policy that ends a call at the first `)` (PAPER) needs patterns without parentheses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import llguidance
import llguidance.hf
import torch
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from toolkit.calls.syntax import Syntax
from toolkit.decoding.vocabulary import Vocabulary
from toolkit.errors import UserError
from toolkit.models.structured import GrammarConstraint

NESTING = 4  # levels of parentheses within arguments that have no closer pattern
WORD = r"[A-Za-z0-9_\u0080-\U0010FFFF]"  # as the scanner has it: a quote mark after one of these opens no string
STRINGS = r"""'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*\""""
LINE_BREAK, BLANK_ENDS = r"(?s:.*\n.*)", r"(?s:\s.*|.*\s)"
EVERY_TOKEN = '%llguidance {"no_forcing": true}'  # forced text may be cut into tokens as the model likes
SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class CallGrammar:
    """The calls of a set of APIs in one syntax; `constraint` makes the state of one row.

    `patterns` has an entry for every API: the regular expression of its arguments, "" when it takes none, None when any
    text will do. `vocabulary` is the width of the model's logits. Raises UserError for a pattern that cannot be
    enforced and for a tokenizer that is not a fast one.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        vocabulary: int,
        syntax: Syntax,
        patterns: Mapping[str, str | None],
    ) -> None:
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise UserError("constrained calls need a fast tokenizer, and this model has none", fix="do not constrain")
        self.trigger = trigger(syntax)
        self.vocabulary = vocabulary
        self.bytes_of = Vocabulary(tokenizer, syntax.opener + syntax.args_open).bytes_of
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=max(vocabulary, len(tokenizer)))
        special = dict(zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True))
        self._call = self._compiled(syntax, patterns, special)
        self._call.consume_tokens(self.tokenizer.tokenize_bytes(self.trigger))
        self._masks: dict[int, torch.Tensor | None] = {}

    def constraint(self) -> CallConstraint:
        """The state of a row that has written nothing yet."""
        return CallConstraint(self)

    def begin(self, rest: bytes) -> llguidance.LLMatcher | None:
        """A matcher that stands after the opening mark and `rest`; None when no call begins like this."""
        tokens = self.tokenizer.tokenize_bytes(rest)
        if tokens and self._call.validate_tokens(tokens) < len(tokens):
            return None
        matcher = self._call.deep_copy()
        if tokens:
            matcher.consume_tokens(tokens)
        return matcher

    def outside(self, tail: int) -> torch.Tensor | None:
        """What may follow when the text ends with the first `tail` bytes of the opening mark; None when all may."""
        if tail not in self._masks:
            before = self.trigger[:tail]
            barred = [token for token, data in enumerate(self.bytes_of) if self._is_barred(before, data)]
            mask = torch.ones(self.vocabulary, dtype=torch.bool)
            mask[barred] = False
            self._masks[tail] = mask if barred else None
        return self._masks[tail]

    def _is_barred(self, before: bytes, data: bytes) -> bool:
        _, found, rest = (before + data).partition(self.trigger)
        return bool(found) and self.begin(rest) is None

    def _compiled(
        self, syntax: Syntax, patterns: Mapping[str, str | None], special: Mapping[str, int]
    ) -> llguidance.LLMatcher:
        matcher = self._matcher(lark(syntax, patterns, special))
        for name, pattern in patterns.items() if matcher.is_error() else ():
            alone = self._matcher(lark(syntax, {name: pattern}, special))
            if alone.is_error():
                lines = alone.get_error().splitlines()
                why = next((line for line in lines if line.startswith("error:")), lines[0]).removeprefix("error:")
                raise UserError(
                    f"the pattern cannot be enforced while writing: {why.strip()[:200]}",
                    f"pattern of {name}",
                    "use no look-around and no back-references, or do not constrain",
                )
        if matcher.is_error():
            raise UserError(f"these APIs cannot be enforced together: {matcher.get_error()[:200]}")
        return matcher

    def _matcher(self, grammar: str) -> llguidance.LLMatcher:
        lark_text = f"{EVERY_TOKEN}\n{grammar}"
        return llguidance.LLMatcher(self.tokenizer, llguidance.LLMatcher.grammar_from_lark(lark_text), log_level=0)


class CallConstraint:
    """The `toolkit.decoding.constraint.Constraint` of one row."""

    def __init__(self, grammar: CallGrammar) -> None:
        self._grammar = grammar
        self._matcher: llguidance.LLMatcher | None = None
        self._inside: GrammarConstraint | None = None
        self._tail = b""  # the longest end of the text that may be the start of an opening mark

    def mask(self) -> torch.Tensor | None:
        """The allowed tokens, bool [vocabulary]; None outside of a call when every token is."""
        return self._grammar.outside(len(self._tail)) if self._inside is None else self._inside.mask()

    def advance(self, token: int) -> None:
        """Take note of the picked token."""
        if self._inside is not None:
            self._inside.advance(token)
        else:
            self._read(self._grammar.bytes_of[token])
        if self._matcher is not None and self._matcher.is_accepting():
            self._matcher = self._inside = None

    def _read(self, data: bytes) -> None:
        trigger = self._grammar.trigger
        text = self._tail + data
        _, found, rest = text.partition(trigger)
        if not found:
            sizes = range(min(len(trigger) - 1, len(text)), 0, -1)
            self._tail = trigger[: next((size for size in sizes if text.endswith(trigger[:size])), 0)]
            return
        self._tail = b""
        self._matcher = self._grammar.begin(rest)
        if self._matcher is not None:
            size = self._grammar.tokenizer.vocab_size
            self._inside = GrammarConstraint(self._matcher, self._grammar.vocabulary, size)


def trigger(syntax: Syntax) -> bytes:
    """What a model writes first in every call and nowhere else: the opening mark, or the head of the object."""
    mark = syntax.opener.rstrip(syntax.blanks) if syntax.blanks else syntax.opener
    return (mark or '{"name"').encode()


def lark(syntax: Syntax, patterns: Mapping[str, str | None], special: Mapping[str, int] | None = None) -> str:
    """The grammar of one whole call, from the opening mark to the mark that closes the arguments."""
    if syntax.arguments == "json":
        return _json_grammar(syntax, patterns, special or {})
    lines = ["start: CALL", "CALL: " + " | ".join(f"CALL{index}" for index in range(len(patterns)))]
    for index, (name, pattern) in enumerate(patterns.items()):
        head = json.dumps(f"{syntax.opener}{name}{syntax.args_open}", ensure_ascii=False)
        close = json.dumps(syntax.args_close)
        if pattern == "":
            lines.append(f"CALL{index}: {head} {close}")
            continue
        lines.append(f"CALL{index}: {head} ARGUMENTS{index} {close}")
        parts = [_slashed(_unclosed(syntax)), f"~{_slashed(BLANK_ENDS)}"]
        lines.append(f"ARGUMENTS{index}: " + " & ".join([*([_slashed(pattern)] if pattern else []), *parts]))
    return "\n".join(lines) + "\n"


def _unclosed(syntax: Syntax) -> str:
    """The texts within which the scanner sees no end of the arguments, as a regular expression."""
    if syntax.arguments == "line":
        return rf"[^{re.escape(syntax.args_close)}]*"
    opened, closed = re.escape(syntax.args_open[-1]), re.escape(syntax.args_close)
    plain = rf"""[^{opened}{closed}'"\nA-Za-z0-9_\u0080-\U0010FFFF]"""
    text = rf"""(?:{WORD}*{plain}|{WORD}+['"]|{STRINGS})*{WORD}*"""
    for _ in range(NESTING):
        text = rf"""(?:{WORD}*(?:{plain}|{opened}{text}{closed})|{WORD}+['"]|{STRINGS})*{WORD}*"""
    return text


def _slashed(pattern: str) -> str:
    """A regular expression between slashes."""
    inside = re.sub(r"(\\.)|/", lambda found: found[1] or r"\/", pattern, flags=re.DOTALL).replace("\n", r"\n")
    return f"/(?:{inside})/"


def _json_grammar(syntax: Syntax, patterns: Mapping[str, str | None], special: Mapping[str, int]) -> str:
    """Calls whose arguments are an object: the pattern holds for the string that stands for our one argument."""

    def mark(text: str) -> str:
        return f"<[{special[text]}]>" if text in special else json.dumps(text, ensure_ascii=False)

    opener = json.dumps(syntax.opener, ensure_ascii=False) if syntax.opener else ""
    if syntax.name_in == "json":
        calls = [
            _object({"name": {"const": name}, syntax.arguments_key: _values(pattern, syntax)})
            for name, pattern in patterns.items()
        ]
        return f"start: {opener} object\nobject: %json {_schema({'anyOf': calls})}\n"
    lines = ["start: " + opener + " (" + " | ".join(f"call{index}" for index in range(len(patterns))) + ")"]
    for index, (name, pattern) in enumerate(patterns.items()):
        lines.append(f"call{index}: {json.dumps(name)} {mark(syntax.args_open)} object{index}")
        lines.append(f"object{index}: %json {_schema(_values(pattern, syntax))}")
    return "\n".join(lines) + "\n"


def _values(pattern: str | None, syntax: Syntax) -> dict[str, Any]:
    """The schema of the arguments: none, our one string, or any object."""
    if pattern is None:
        return {"type": "object"}
    return _object({syntax.text_key: {"type": "string", "pattern": f"^(?:{pattern})$"}} if pattern else {})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _schema(schema: dict[str, Any]) -> str:
    return json.dumps({**schema, "x-guidance": SPACING})
