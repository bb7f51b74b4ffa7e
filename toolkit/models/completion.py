"""Text completion as the REST planner needs it: prompts in, texts with token ids and usage out, one small protocol.

A prompt has a fixed part, the same in every call of a module (instructions, in-context examples, the endpoint list),
and a part that changes. Back ends use the cut as they can: the local one computes the fixed part once per run, a
server gets it as the system message. This file must not know what prompts are about, and imports no back end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from toolkit.errors import UserError

Finish = Literal["stop", "length", "time"]


@dataclass(frozen=True)
class Prompt:
    """`fixed` is shared by many prompts and comes first; `rest` is this prompt's own text."""

    fixed: str
    rest: str

    @property
    def text(self) -> str:
        """The whole prompt as one text."""
        return self.fixed + self.rest


@dataclass(frozen=True)
class Schema:
    """The text must be one JSON value that this JSON schema accepts."""

    schema: dict[str, Any]


@dataclass(frozen=True)
class Regex:
    """The whole text must match this regular expression (the subset without look-around and back-references)."""

    pattern: str


@dataclass(frozen=True)
class Choices:
    """The whole text must be one of these."""

    options: tuple[str, ...]


Shape = Schema | Regex | Choices


@dataclass(frozen=True)
class Limits:
    """The most one completion may take: tokens written, and wall seconds (all retries of a server together)."""

    tokens: int = 512
    seconds: float = 300.0


@dataclass(frozen=True)
class Usage:
    """Tokens read and written; None where the back end does not say."""

    prompt: int | None = None
    written: int | None = None


@dataclass(frozen=True)
class Completion:
    """One text. `ids` are its token ids (None for servers).

    `shaped` says whether the shape was enforced while writing; None: a server was asked to, and may not have.
    """

    text: str
    ids: tuple[int, ...] | None
    usage: Usage
    finish: Finish
    shaped: bool | None = False


class ModelError(Exception):
    """The model gave no text: server down, refused, out of its context. One line; the run that asked records it."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class CompletionModel(Protocol):
    """What every back end offers."""

    @property
    def name(self) -> str:
        """What records call the model."""
        ...

    @property
    def context(self) -> int:
        """Tokens that prompt and completion may have together."""
        ...

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        """One completion per prompt, in order, cut before the first of the `stop` strings. Raises `ModelError`."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, exact for local models, an upper-side estimate for servers."""
        ...


def cut_before(text: str, stop: Sequence[str]) -> str:
    """The text up to the first occurrence of any stop string."""
    ends = [at for mark in stop if (at := text.find(mark)) >= 0]
    return text[: min(ends)] if ends else text


def open_model(name: str, key_env: str | None = None, context: int | None = None) -> CompletionModel:
    """The back end that a model string names.

    `openai:URL#MODEL` (chat) and `completions:URL#MODEL` are OpenAI-compatible servers, `scripted:FILE` replays a
    file, anything else is a local model: `bundled:NAME`, a folder, a GGUF file or a hub id. `key_env` names the
    environment variable that holds the server's key. `context` overrides what the back end knows.
    Raises `UserError` for a string that names nothing usable.
    """
    scheme, _, rest = name.partition(":")
    if scheme in ("openai", "completions"):
        from toolkit.models.openai_compatible import ServerModel

        url, _, model = rest.partition("#")
        if not url.startswith(("http://", "https://")):
            raise UserError(f"no server address in {name!r}", fix=f"write {scheme}:http://localhost:8080/v1#model")
        return ServerModel(url, model, chat=scheme == "openai", key_env=key_env, context=context)
    if scheme == "scripted":
        from toolkit.models.scripted import ScriptedModel

        return ScriptedModel.load(rest)
    from toolkit.models.local import LocalModel

    return LocalModel.load(name, context)
