"""What the command line names by a word: a model's tokenizer, a call syntax.

Loads a tokenizer without its model. Knows nothing of manifests.
"""

from __future__ import annotations

from typing import cast

from toolkit.calls.syntax import SYNTAXES, Syntax
from toolkit.errors import UserError
from toolkit.plugins.fragment import Tokenizer


def syntax_of(name: str) -> Syntax:
    """The call syntax of that name; UserError when there is none."""
    if name not in SYNTAXES:
        raise UserError(f"no call syntax is named {name!r}", "--syntax", f"choose from: {', '.join(SYNTAXES)}")
    return SYNTAXES[name]


def tokenizer_of(model: str) -> Tokenizer:
    """The tokenizer of a local folder, a hub id, or `bundled:NAME`; UserError when it cannot be had."""
    from transformers import AutoTokenizer

    from toolkit.models.bundled import bundled_folder
    from toolkit.models.spec import ModelSpec

    name = ModelSpec(name=model, path=model).bundled
    path = model if name is None else str(bundled_folder(name))
    try:
        return cast(Tokenizer, AutoTokenizer.from_pretrained(path))
    except Exception as error:  # transformers raises a dozen kinds for files it cannot use; the user needs one line
        first = str(error).strip().split("\n")[0]
        fix = "give a folder with tokenizer files, a hub id or bundled:smollm2-135m-instruct"
        raise UserError(f"no tokenizer can be had: {first}", model, fix) from error
