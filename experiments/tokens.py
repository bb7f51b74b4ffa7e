"""Counts prompt tokens for `toolkit plan`: reads `tokenizer.json` where it is on this machine, and never torch.

Downloads nothing; a tokenizer that is not here yields no count rather than a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from toolkit.models.cache import cache_folder
from toolkit.models.spec import ModelSpec
from toolkit.plugins.fragment import Fragment

Count = Callable[[Sequence[Fragment], str], int]


def counter(spec: ModelSpec) -> Count | None:
    """A function that counts the tokens of examples and a prompt, cut as the interceptor cuts them, or None."""
    path = tokenizer_file(spec)
    if path is None:
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    lengths: dict[str, int] = {}

    def length(text: str) -> int:
        if text not in lengths:
            lengths[text] = len(tokenizer.encode(text, add_special_tokens=False).ids)
        return lengths[text]

    def count(parts: Sequence[Fragment], prompt: str) -> int:
        return sum(length(piece) for part in parts for piece in part.pieces) + length(prompt)

    return count


def tokenizer_file(spec: ModelSpec) -> Path | None:
    """The model's `tokenizer.json` if this machine has it."""
    if spec.bundled is not None:
        found = sorted((cache_folder() / "models").glob(f"{spec.bundled}-*/tokenizer.json"))
        return found[0] if found else None
    folder = Path(spec.path).expanduser()
    if folder.is_dir():
        path = folder / "tokenizer.json"
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(spec.path, "tokenizer.json", revision=spec.revision)
    except HFValidationError:
        return None
    return Path(cached) if isinstance(cached, str) else None
