"""Constrained writing for local models: a grammar's token masks from llguidance.

Measured on the SmolLM2 vocabulary (49,152 tokens, one core, a 48-token API plan under a JSON schema with a pattern),
mean time per mask and time to build: llguidance 1.9.1 0.03-0.08 ms and 1-3 ms, xgrammar 0.2.9 0.005-0.008 ms and
13 ms, outlines-core 0.2.14 0.22 ms and 213 ms; one decode step of that model takes about 40 ms. All are fast enough;
llguidance takes any schema without a build pause, reports what it cannot do as text, and pulls in nothing else.
Knows nothing of prompts or of the decode loop.
"""

from __future__ import annotations

import json
import re

import llguidance
import llguidance.hf
import llguidance.torch
import torch
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from toolkit.models.completion import Choices, ModelError, Regex, Schema, Shape

_BITS = torch.arange(32, dtype=torch.int32)


class Grammars:
    """Makes a constraint per request for one tokenizer; the vocabulary is read once (about half a second)."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> None:
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ModelError("writing in a fixed shape needs a fast tokenizer, and this model has none")
        self._vocabulary = vocabulary
        size = max(vocabulary, len(tokenizer))
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)

    def constraint(self, shape: Shape) -> GrammarConstraint:
        """The constraint for a shape. Raises `ModelError` for a schema or pattern that llguidance cannot read."""
        matcher = llguidance.LLMatcher(self._tokenizer, _grammar(shape), log_level=0)
        if matcher.is_error():
            raise ModelError(f"the shape cannot be enforced: {matcher.get_error()[:300]}")
        return GrammarConstraint(matcher, self._vocabulary, self._tokenizer.vocab_size)


class GrammarConstraint:
    """The `toolkit.decoding.constraint.Constraint` of one row."""

    def __init__(self, matcher: llguidance.LLMatcher, vocabulary: int, size: int) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._words = llguidance.torch.allocate_token_bitmask(1, size)

    def mask(self) -> torch.Tensor:
        """The allowed tokens, bool [vocabulary]; only end-of-sequence once nothing may follow."""
        llguidance.torch.fill_next_token_bitmask(self._matcher, self._words, 0)
        bits = (self._words[0].unsqueeze(1) >> _BITS) & 1
        return bits.flatten()[: self._vocabulary].bool()

    def advance(self, token: int) -> None:
        """Take note of the picked token. Raises `ModelError` when the grammar refuses it."""
        if not self._matcher.consume_token(token):
            raise ModelError(f"token {token} breaks the enforced shape: {self._matcher.get_error()[:200]}")


def _grammar(shape: Shape) -> str:
    """The shape in llguidance's own notation."""
    match shape:
        case Schema():
            # One way to space JSON: small models otherwise drift into endless blanks between tokens.
            return llguidance.LLMatcher.grammar_from_json_schema(
                json.dumps(shape.schema),
                overrides={"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "},
            )
        case Regex():
            return llguidance.LLMatcher.grammar_from_regex(shape.pattern)
        case Choices():
            pattern = "|".join(re.escape(option) for option in shape.options)
            return llguidance.LLMatcher.grammar_from_regex(pattern)
