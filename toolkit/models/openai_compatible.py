"""Any server that speaks the OpenAI protocol (llama.cpp, vLLM, Ollama, hosted ones) as a completion back end.

Retries what may pass, bounds time and size, follows no redirect (it would carry the key elsewhere), takes the key
from the environment only and keeps it out of every message. A server that refuses `response_format` is asked with
less from then on. Knows nothing of what prompts are about.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import httpx2

from toolkit.errors import UserError
from toolkit.models.completion import Completion, Limits, ModelError, Prompt, Schema, Shape, Usage, cut_before

ATTEMPTS = 4
LARGEST_ANSWER = 8 * 2**20
LONGEST_WAIT = 30.0
DEFAULT_CONTEXT = 8192
BYTES_PER_TOKEN = 3
DISCOVERY = Limits(seconds=10.0)
PASSING = {408, 409, 429, 500, 502, 503, 504}
_FORMATS = ("json_schema", "json_object", "none")


class _Refused(ModelError):
    """The server answered 400 or 422: asking the same again is useless, asking for less may not be."""


class ServerModel:
    """`/chat/completions` of a server, or `/completions` for base models (`chat` False)."""

    def __init__(
        self,
        url: str,
        model: str = "",
        chat: bool = True,
        key_env: str | None = None,
        context: int | None = None,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._model, self._chat, self._context = model, chat, context
        self._key = read_key(key_env)
        self._client = httpx2.Client(transport=transport, follow_redirects=False)
        self._sleep = sleep
        self._format = 0
        self._budget_name = "max_tokens"
        self.name = f"{'openai' if chat else 'completions'}:{self._url}#{model}"

    @property
    def context(self) -> int:
        """Tokens the served model takes: as told, else as the server says, else 8192."""
        return self._context or self._served[1] or DEFAULT_CONTEXT

    def complete(
        self, prompts: Sequence[Prompt], stop: Sequence[str], limits: Limits, shape: Shape | None = None
    ) -> list[Completion]:
        """One request per prompt, temperature 0. Raises `ModelError` when the server gives no text in time."""
        return [self._one(prompt, stop, limits, shape) for prompt in prompts]

    def count(self, text: str) -> int:
        """An estimate on the upper side: three bytes per token."""
        return -(-len(text.encode()) // BYTES_PER_TOKEN)

    def _one(self, prompt: Prompt, stop: Sequence[str], limits: Limits, shape: Shape | None) -> Completion:
        """Ask, and ask for less as long as the server refuses what we ask for."""
        deadline = time.monotonic() + limits.seconds
        kind = self._format
        while True:
            payload = self._payload(prompt, stop, limits, shape, _FORMATS[kind])
            try:
                answer = self._send("POST", "/chat/completions" if self._chat else "/completions", payload, deadline)
                break
            except _Refused as refusal:
                if "max_completion_tokens" in str(refusal) and self._budget_name == "max_tokens":
                    self._budget_name = "max_completion_tokens"
                elif "response_format" in payload:
                    kind += 1
                else:
                    raise
        self._format = kind
        asked = payload.get("response_format", {}).get("type") == "json_schema"
        return self._completion(answer, stop, None if asked else False)

    def _payload(
        self, prompt: Prompt, stop: Sequence[str], limits: Limits, shape: Shape | None, kind: str
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self._model or self._served[0], "temperature": 0}
        payload[self._budget_name] = limits.tokens
        if self._chat:
            payload["messages"] = [
                {"role": "system", "content": prompt.fixed.strip()},
                {"role": "user", "content": prompt.rest.strip()},
            ]
        else:
            payload["prompt"] = prompt.text
        if stop:
            payload["stop"] = list(stop)[:4]
        if isinstance(shape, Schema) and kind == "json_schema":
            wanted = {"name": "answer", "schema": _portable(shape.schema)}
            payload["response_format"] = {"type": kind, "json_schema": wanted}
        elif isinstance(shape, Schema) and kind == "json_object":
            payload["response_format"] = {"type": kind}
        return payload

    def _completion(self, answer: Any, stop: Sequence[str], shaped: bool | None) -> Completion:
        """The first choice of an answer. Raises `ModelError` when it has none."""
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"] if self._chat else choice["text"]
        except (KeyError, IndexError, TypeError) as error:
            raise ModelError(f"the model server's answer has no text: {json.dumps(answer)[:200]}") from error
        usage = answer.get("usage") or {}
        read, written = (usage.get(key) if isinstance(usage, dict) else None for key in _USAGE)
        cut = cut_before(text if isinstance(text, str) else "", stop)
        return Completion(
            cut, None, Usage(read, written), "length" if choice.get("finish_reason") == "length" else "stop", shaped
        )

    def _send(self, method: str, path: str, payload: Any, deadline: float) -> Any:
        """The parsed answer, after as many attempts as help and fit."""
        failure = "gave no answer in time"
        for attempt in range(ATTEMPTS):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                status, headers, body = self._attempt(method, path, payload, left)
            except httpx2.TimeoutException:
                raise ModelError(f"the model server {self._url} gave no answer in {left:.0f} s") from None
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                failure, wait = f"cannot be reached ({type(error).__name__}: {error})", 0.5 * 2**attempt
            else:
                if status == 200:
                    return _parse(body)
                failure, wait = f"answered {status}: {self._reason(body)}", pause(headers, attempt)
                if status in (400, 422):
                    raise _Refused(f"the model server {failure}")
                if status not in PASSING:
                    break
            if attempt + 1 < ATTEMPTS and wait < deadline - time.monotonic():
                self._sleep(wait)
        raise ModelError(f"the model server {self._url} {failure}")

    def _attempt(self, method: str, path: str, payload: Any, seconds: float) -> tuple[int, httpx2.Headers, bytes]:
        """One request: status, headers and body, the latter bounded in size and time."""
        ends = time.monotonic() + seconds
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        timeout = httpx2.Timeout(seconds, connect=min(seconds, 10.0))
        with self._client.stream(method, self._url + path, json=payload, headers=headers, timeout=timeout) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > LARGEST_ANSWER:
                    raise ModelError(f"the model server's answer is larger than {LARGEST_ANSWER // 2**20} MiB")
                if time.monotonic() > ends:
                    raise httpx2.ReadTimeout("the answer took too long")
            return response.status_code, response.headers, bytes(body)

    @cached_property
    def _served(self) -> tuple[str, int | None]:
        """(first model, its context) as `/models` lists them; ("default", None) when it does not."""
        try:
            answer = self._send("GET", "/models", None, time.monotonic() + DISCOVERY.seconds)
            listed = [entry for entry in answer["data"] if self._model in ("", entry["id"])]
            entry = listed[0]
            known = entry.get("max_model_len") or (entry.get("meta") or {}).get("n_ctx")
            return str(entry["id"]), known if isinstance(known, int) else None
        except (ModelError, KeyError, IndexError, TypeError, AttributeError):
            return self._model or "default", None

    def _reason(self, body: bytes) -> str:
        """The server's own words about a refusal, short and without the key."""
        text = body.decode("utf-8", "replace")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            text = json.dumps(json.loads(text)["error"], ensure_ascii=False)
        return (text.replace(self._key, "[key]") if self._key else text)[:300]


_USAGE = ("prompt_tokens", "completion_tokens")


def _portable(schema: Any) -> Any:
    """The schema without length limits: llama.cpp makes very slow grammars of them, and tokens are limited anyway."""
    if isinstance(schema, dict):
        limits = ("maxLength",) if isinstance(schema.get("maxLength"), int) else ()  # it may be a property's name
        return {key: _portable(value) for key, value in schema.items() if key not in limits}
    return [_portable(item) for item in schema] if isinstance(schema, list) else schema


def read_key(key_env: str | None) -> str | None:
    """The key from the environment. Raises `UserError` when the named variable is not set."""
    if key_env is None:
        return None
    key = os.environ.get(key_env, "").strip()
    if not key:
        raise UserError(f"the environment variable {key_env} holds no key", fix=f"export {key_env}=...")
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"the environment variable {key_env} holds characters that no key has", fix="set it anew")
    return key


def _parse(body: bytes) -> Any:
    """The JSON of an answer. Raises `ModelError`."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise ModelError(f"the model server did not answer with JSON: {body[:120]!r}") from error


def pause(headers: httpx2.Headers, attempt: int) -> float:
    """Seconds until the next attempt: as the server asks (bounded), else doubling from a half."""
    try:
        return min(max(float(headers.get("retry-after", "")), 0.0), LONGEST_WAIT)
    except ValueError:
        return float(0.5 * 2**attempt)
