"""A scripted model that knows the way: it plays Planner, selector, Caller and Parser of any strategy along the path of
the scripted solver, and so proves that the whole pipeline can do every task.

It knows which requests to make, but takes what it needs from its prompts as any model must: an id, a URI or a name that
an earlier response gave has to stand in the prompt before it may be used. If the pipeline lost it, the oracle fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from toolkit.models.completion import Completion, Limits, ModelError, Prompt, Shape, Usage
from toolkit.restgpt.asking import Module
from toolkit.restgpt.exchange import Exchange

CONTEXT = 65_536
CHARACTERS_PER_TOKEN = 4
_NUMBER = re.compile(r"\d{3,}")
_MODULES = (
    *("planner", "selector", "caller", "parser", "parser_direct", "parser_jmespath"),
    *("react", "reflect", "offline", "deps", "conclude", "flat"),
)


class OracleModel:
    """Plays one task: `path` is what the solver sent and got, `answer` what it then said.

    `done` tells how many requests the agent has sent so far. `solved` False: the honest answer is that there is none.
    """

    name = "oracle"
    context = CONTEXT

    def __init__(self, path: Sequence[Exchange], answer: str, solved: bool, done: Callable[[], int]) -> None:
        self._path, self._answer, self._solved, self._done = path, answer, solved, done
        self._pieces = [list(_pieces(entry.json)) for entry in path]
        self._needed = [self._needed_of(number) for number in range(len(path))]

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        """What a perfect model would write. Raises `ModelError` when a prompt lacks what the next step needs."""
        return [self._complete(prompt) for prompt in prompts]

    def count(self, text: str) -> int:
        """A fixed number of characters per token."""
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    def _complete(self, prompt: Prompt) -> Completion:
        (module,) = [name for name in _MODULES if prompt.fixed.startswith(Module.load(name).fixed + "\n")]
        play: Callable[[str, int], Any] = getattr(self, f"_{module}")
        reply = play(prompt.rest, self._done())
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return Completion(text, None, Usage(self.count(prompt.text), self.count(text)), "stop")

    def _needed_of(self, number: int) -> list[tuple[str, str]]:
        """(place, value) of everything in response `number` that later requests or the answer use."""
        later = self._path[number + 1 :]
        used = {value for entry in later for value in _values(entry)}
        known = {value for entry in self._path[: number + 1] for value in _values(entry)}
        wanted = {place_value for place_value in self._pieces[number] if place_value[1] in used - known}
        said = [(place, value) for place, value in self._pieces[number] if len(value) > 3 and value in self._answer]
        first: dict[str, str] = {}
        for place, value in [*(pair for pair in self._pieces[number] if pair in wanted), *said]:
            first.setdefault(value, place)
        return [(place, value) for value, place in first.items()]

    def _check(self, number: int, prompt: str) -> None:
        """Refuse to use what the prompt does not show: everything that request `number` takes from earlier ones."""
        wanted = set(_values(self._path[number])) if number < len(self._path) else set()
        for needed in self._needed[:number]:
            for _, value in needed:
                if (value in wanted or (number == len(self._path) and value in self._answer)) and value not in prompt:
                    raise ModelError(f"the prompt does not show {value!r}, which an earlier response gave")

    def _what(self, number: int) -> str:
        """A sub-task in words, with the values that it takes."""
        entry = self._path[number]
        values = ", ".join(_values(entry))
        return f"Send {entry.endpoint}" + (f" with {values}" if values else "")

    def _planner(self, prompt: str, done: int) -> Any:
        self._check(done, prompt)
        if done < len(self._path):
            return {"signal": "next", "text": self._what(done)[:280], "solved": True}
        return {"signal": "end", "text": self._answer, "solved": self._solved}

    def _selector(self, prompt: str, done: int) -> Any:
        entry = self._path[done]
        return {"calls": [{"call": _call(entry), "purpose": self._what(done)[:150]}], "note": ""}

    def _caller(self, prompt: str, done: int) -> Any:
        self._check(done, prompt)
        reply = _request(self._path[done])
        return {**reply, "output": "what is needed next"}

    def _parser(self, prompt: str, done: int) -> Any:
        lines = [f"print({value!r} if data{place} is None else data{place})" for place, value in self._needed[done - 1]]
        return "```python\n" + ("\n".join(lines) or "print('done')") + "\n```"

    def _parser_direct(self, prompt: str, done: int) -> Any:
        return {"answer": "\n".join(value for _, value in self._needed[done - 1]) or "done"}

    def _parser_jmespath(self, prompt: str, done: int) -> Any:
        places = [re.sub(r"\['([^']+)'\]", r'."\1"', place).lstrip(".") for place, _ in self._needed[done - 1]]
        return {"query": f"[{', '.join(places)}]" if places else "'done'"}

    def _react(self, prompt: str, done: int) -> Any:
        self._check(done, prompt)
        if done < len(self._path):
            call, purpose = _call(self._path[done]), self._what(done)
            return {"thought": "The next step is known.", "action": call, "input": purpose, "solved": True}
        return {"thought": "All is known.", "action": "finish", "input": self._answer, "solved": self._solved}

    def _offline(self, prompt: str, done: int) -> Any:
        return {"steps": self._steps(0)}

    def _deps(self, prompt: str, done: int) -> Any:
        self._check(done, prompt)
        steps, end = self._steps(done), done == len(self._path)
        answer = self._answer if end else ""
        return {"explanation": "As planned.", "steps": steps, "solved": end and self._solved, "answer": answer}

    def _steps(self, start: int) -> list[dict[str, str]]:
        return [{"call": str(entry.endpoint), "purpose": "as the request needs"} for entry in self._path[start:]]

    def _conclude(self, prompt: str, done: int) -> Any:
        self._check(len(self._path), prompt)
        return {"solved": self._solved, "answer": self._answer}

    def _reflect(self, prompt: str, done: int) -> Any:
        return {"good": True, "lesson": "Nothing to learn."}

    def _flat(self, prompt: str, done: int) -> Any:
        if done < len(self._path):
            return _request(self._path[done])
        return {"answer": self._answer, "solved": self._solved}


def _request(entry: Exchange) -> dict[str, Any]:
    """A request as the Caller writes it."""
    parts = urlsplit(str(entry.url))
    reply = {"method": entry.method, "path": parts.path, "query": dict(parse_qsl(parts.query))}
    return reply if entry.sent is None else {**reply, "body": entry.sent}


def _call(entry: Exchange) -> str:
    return f"{entry.method} {urlsplit(str(entry.url)).path}"


def _values(entry: Exchange) -> list[str]:
    """The values that a request takes: filled path segments, query values and body strings, lists taken apart."""
    parts = urlsplit(str(entry.url))
    template = str(entry.endpoint).partition(" ")[2].split("/")
    segments = [unquote(part) for part in parts.path.split("/")]
    values = [given for wanted, given in zip(template, segments, strict=True) if wanted != given]
    values += [piece for _, value in parse_qsl(parts.query) for piece in value.split(",")]
    return values + [value for _, value in _pieces(entry.sent)]


def _pieces(body: Any) -> Iterator[tuple[str, str]]:
    """(Python subscripts, text) of every string and whole number in a JSON value, in document order."""
    stack: list[tuple[str, Any]] = [("", body)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{place}[{key!r}]", item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((f"{place}[{index}]", item) for index, item in reversed(list(enumerate(value))))
        elif isinstance(value, str | int) and not isinstance(value, bool):
            yield place, str(value)
