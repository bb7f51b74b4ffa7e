"""The bytes behind every token id, and token ids for bytes.

Calls and stop strings are found in bytes because a token may hold half a character or more than a call's end.
Byte-level BPE (GPT-2, Llama 3, SmolLM2, Qwen) and SentencePiece-style vocabularies are read from the tokenizer's own
description. This file knows nothing of calls.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from toolkit.errors import UserError

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@lru_cache(maxsize=1)
def _byte_of_character() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte, inverted (OpenAI `encoder.py`, `bytes_to_unicode`)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    return table | {chr(256 + index): byte for index, byte in enumerate(others)}


def _mentions(node: Any, kind: str) -> bool:
    """Whether a tokenizers component, or one inside a sequence of them, has this type."""
    if isinstance(node, dict):
        return node.get("type") == kind or any(_mentions(value, kind) for value in node.values())
    return isinstance(node, list) and any(_mentions(value, kind) for value in node)


class Vocabulary:
    """`bytes_of[id]` for every id of a fast Hugging Face tokenizer; special tokens are empty.

    Those that `marks` (a syntax's marks of a call, such as Mistral's `[TOOL_CALLS]`) holds are text all the same.
    Raises UserError for a tokenizer whose decoder is neither byte-level nor SentencePiece-like.
    """

    def __init__(self, tokenizer: Any, marks: str = "") -> None:
        self._tokenizer = tokenizer
        description = json.loads(tokenizer.backend_tokenizer.to_str())
        decoder = description.get("decoder")
        if _mentions(decoder, "ByteLevel"):
            convert = self._byte_level
        elif _mentions(decoder, "ByteFallback") or _mentions(decoder, "Metaspace"):
            convert = self._sentence_piece
        else:
            raise UserError(
                "the tokenizer's decoder is neither byte-level nor SentencePiece-like",
                fix="use a model with a GPT-2, Llama, Qwen, Gemma or Mistral style tokenizer",
            )
        entries = description["added_tokens"]
        added: dict[int, str] = {entry["id"]: entry["content"] for entry in entries}
        self.specials: tuple[str, ...] = tuple(entry["content"] for entry in entries if entry["special"])
        hidden = {text for text in self.specials if text not in marks}
        self.bytes_of: list[bytes] = []
        for token_id, token in enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))):
            if token_id in added:
                self.bytes_of.append(b"" if added[token_id] in hidden else added[token_id].encode())
            else:
                self.bytes_of.append(b"" if token is None else convert(token))
        self._id_of = {data: token_id for token_id, data in reversed(list(enumerate(self.bytes_of))) if data}

    @staticmethod
    def _byte_level(token: str) -> bytes:
        table = _byte_of_character()
        return b"".join(bytes([table[char]]) if char in table else char.encode() for char in token)

    @staticmethod
    def _sentence_piece(token: str) -> bytes:
        byte = _BYTE_TOKEN.fullmatch(token)
        return bytes([int(byte[1], 16)]) if byte else token.replace("\u2581", " ").encode()

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, without special tokens; empty for the empty text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False)) if text else []

    def defused(self, text: str) -> str:
        """The text with every special token spelled apart, so that a stranger's words cannot become one."""
        for mark in self.specials:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
        return text

    def encode_bytes(self, data: bytes) -> list[int]:
        """Token ids whose bytes are exactly `data`, which may start inside a character.

        The tokenizer's own encoding where it gives the same bytes back, else the longest vocabulary entry first.
        """
        try:
            ids = self.encode(data.decode())
        except UnicodeDecodeError:
            ids = []
        if ids and self.join(ids) == data:
            return ids
        ids = []
        while data:
            width = next((n for n in range(len(data), 0, -1) if data[:n] in self._id_of), 0)
            if not width:
                raise ValueError(f"no token holds the byte {data[:1]!r}")
            ids.append(self._id_of[data[:width]])
            data = data[width:]
        return ids

    def join(self, ids: list[int]) -> bytes:
        """The bytes of a token sequence."""
        return b"".join(self.bytes_of[token] for token in ids)
