"""Five lines for a chatbot: load plugins, wrap a model, ask, see the answer, its calls, and who wrote which part.

    from toolkit import Assistant, load_plugins

    assistant = Assistant("bundled:smollm2-135m-instruct", load_plugins("science"))
    answer = assistant.ask("What is 12 * 34?")
    print(answer.said, answer.calls, answer.pieces)

Importing this file is quick; models, servers and their libraries are loaded when an assistant is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from toolkit.chat.answer import Answer, OnText, Settings, Writer
from toolkit.errors import UserError
from toolkit.plugins.discover import open_plugin
from toolkit.plugins.plugin import LocalPlugin, Plugin
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.http import HttpSettings

SERVERS = {"openai": True, "completions": False}  # scheme of a model's name -> whether it is a chat endpoint
MAX_PAST = 100  # exchanges kept


def load_plugins(*names: str | Path) -> list[LocalPlugin]:
    """Plugins by name (`science`, installed ones) or by the path of a manifest. UserError for one that is not there."""
    return [open_plugin(name) for name in names]


class Assistant:
    """A conversation with a model that uses plugins.

    `model` is a local one (`bundled:NAME`, folder, hub id), a server (`openai:URL#MODEL` for its chat endpoint,
    `completions:URL#MODEL`), a pair (model, tokenizer) of transformers, or any `Writer`. `allow_hosts` are the hosts
    that plugins may reach although their address is not public; `key_env` names the variable with a server's key.
    """

    def __init__(
        self,
        model: str | tuple[Any, Any] | Writer,
        plugins: Sequence[LocalPlugin | Plugin],
        settings: Settings | None = None,
        allow_hosts: Iterable[str] = (),
        key_env: str | None = None,
    ) -> None:
        self.plugins = [_opened(plugin) for plugin in plugins]
        http = HttpSettings(private_hosts=frozenset(allow_hosts))
        self.toolbox = load_toolbox(self.plugins, settings={one.manifest.name: http for one in self.plugins})
        self.writer = self._open(model, settings or Settings(), key_env)
        self.past: list[Answer] = []

    def ask(self, question: str, on_text: OnText = lambda text, by_model: None) -> Answer:
        """The answer, which later questions may refer to. `on_text` sees it grow: text, and whether the model wrote it.

        ModelError when a server fails; the conversation is then as it was.
        """
        if not question.strip():
            raise UserError("the question is empty", fix="ask something")
        answer = self.writer.answer(self.past, question, on_text)
        self.past = [*self.past, answer][-MAX_PAST:]
        return answer

    def reset(self) -> None:
        """Forget what was said."""
        self.past = []

    def _open(self, model: str | tuple[Any, Any] | Writer, settings: Settings, key_env: str | None) -> Writer:
        if isinstance(model, tuple):
            from toolkit.chat.local import LocalWriter

            return LocalWriter(*model, self.plugins, self.toolbox, settings)
        if not isinstance(model, str):
            return model
        scheme, _, rest = model.partition(":")
        if scheme in SERVERS:
            from toolkit.chat.remote import RemoteWriter
            from toolkit.models.streaming import TextStream

            url, _, name = rest.partition("#")
            if not url.startswith(("http://", "https://")):
                raise UserError(f"no server address in {model!r}", fix=f"write {scheme}:http://localhost:8080/v1#model")
            stream = TextStream(url, name, key_env)
            return RemoteWriter(stream, self.plugins, self.toolbox, settings, SERVERS[scheme])
        from toolkit.chat.local import LocalWriter
        from toolkit.models.load import ModelSpec, load

        return LocalWriter(*load(ModelSpec(name=model, path=model)), self.plugins, self.toolbox, settings, name=model)


def _opened(plugin: LocalPlugin | Plugin) -> LocalPlugin:
    return plugin if isinstance(plugin, LocalPlugin) else LocalPlugin(plugin.manifest(), plugin.tools)
