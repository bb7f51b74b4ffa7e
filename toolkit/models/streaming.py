"""Text from an OpenAI-compatible server as it is written, so that a reader may stop it in the middle.

Reads server-sent events, or a whole JSON answer from a server that does not stream. Bounds time and size, follows no
redirect, retries only before the first word. Knows nothing of calls and prompts.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import httpx2

from toolkit.models.completion import ModelError
from toolkit.models.openai_compatible import PASSING, pause, read_key

ATTEMPTS = 3
LARGEST_STREAM = 8 * 2**20  # bytes of one answer
LONGEST_LINE = 2**20  # bytes of one event
CONNECT_SECONDS = 10.0
Ending = Literal["stop", "length"]


class Refused(ModelError):
    """The server answered 400 or 422: asking the same again is useless, asking otherwise may not be."""


@dataclass
class Ended:
    """Why a stream ended; filled in when it has."""

    ending: Ending = "stop"


class TextStream:
    """The streaming side of one server."""

    def __init__(
        self,
        url: str,
        model: str = "",
        key_env: str | None = None,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url, self._model = url.rstrip("/"), model
        self._key = read_key(key_env)
        self._client = httpx2.Client(transport=transport, follow_redirects=False)
        self._sleep = sleep

    def read(self, path: str, payload: dict[str, Any], seconds: float, ended: Ended) -> Iterator[str]:
        """The text of one answer, bit by bit; closing the iterator hangs up.

        `payload` is the request without `stream` and `model`. Raises ModelError; Refused for 400 and 422.
        """
        deadline = time.monotonic() + seconds
        body = {"model": self._served, "stream": True, **payload}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._open(path, body, deadline) as response:
                    if response.status_code == 200:
                        yield from self._texts(response, deadline, ended)
                        return
                    failure, wait = self._failure(response), pause(response.headers, attempt - 1)
            except httpx2.TimeoutException:
                raise ModelError(f"the model server {self.url} gave no answer in {seconds:g} s") from None
            except (httpx2.ConnectError, httpx2.InvalidURL) as error:
                failure, wait = f"cannot be reached ({type(error).__name__}: {error})", 0.25 * 2**attempt
            except httpx2.HTTPError as error:
                raise ModelError(f"the model server {self.url} broke off ({type(error).__name__}: {error})") from None
            if attempt == ATTEMPTS or time.monotonic() + wait > deadline:
                raise ModelError(f"the model server {self.url} {failure}")
            self._sleep(wait)

    @cached_property
    def _served(self) -> str:
        """The model to ask for: the one named, else the first that the server lists, else "default"."""
        if self._model:
            return self._model
        with contextlib.suppress(httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, IndexError, TypeError):
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            listed = self._client.get(f"{self.url}/models", headers=headers, timeout=CONNECT_SECONDS).json()
            return str(listed["data"][0]["id"])
        return "default"

    def _open(self, path: str, body: dict[str, Any], deadline: float) -> AbstractContextManager[httpx2.Response]:
        left = max(deadline - time.monotonic(), 0.001)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        timeout = httpx2.Timeout(left, connect=min(left, CONNECT_SECONDS))
        return self._client.stream("POST", self.url + path, json=body, headers=headers, timeout=timeout)

    def _failure(self, response: httpx2.Response) -> str:
        """What a refusal says, when trying again may help; else raises."""
        said = bytearray()
        for chunk in response.iter_bytes():
            said += chunk
            if len(said) > LONGEST_LINE:
                break
        text = said[:300].decode("utf-8", "replace")
        text = text.replace(self._key, "[key]") if self._key else text
        failure = f"answered {response.status_code}: {text}"
        if response.status_code in (400, 422):
            raise Refused(f"the model server {self.url} {failure}")
        if response.status_code not in PASSING:
            raise ModelError(f"the model server {self.url} {failure}")
        return failure

    def _texts(self, response: httpx2.Response, deadline: float, ended: Ended) -> Iterator[str]:
        """The texts of an answer's events."""
        if "text/event-stream" not in response.headers.get("content-type", ""):
            body = b"".join(_bounded(response, deadline))
            yield self._text(_parsed(body), ended)[0]
            return
        over = False
        for line in _lines(_bounded(response, deadline)):
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            text, last = self._text(_parsed(data), ended)
            over = over or last
            if text:
                yield text
        if not over:
            raise ModelError(f"the model server {self.url} broke off in the middle of its answer")

    def _text(self, event: Any, ended: Ended) -> tuple[str, bool]:
        """The text of one event, and whether it is the last."""
        try:
            if "error" in event:
                raise ModelError(f"the model server says: {json.dumps(event['error'])[:300]}")
            choice: Any = next(iter(event["choices"]), {})
            part = choice.get("delta") or choice.get("message") or choice
            text = part.get("text" if part is choice else "content")
            reason = choice.get("finish_reason")
        except (KeyError, TypeError, AttributeError):
            raise ModelError(f"the model server's answer has no text: {json.dumps(event)[:200]}") from None
        if reason == "length":
            ended.ending = "length"
        return text if isinstance(text, str) else "", reason is not None


def _bounded(response: httpx2.Response, deadline: float) -> Iterator[bytes]:
    """The body's chunks, within size and time."""
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > LARGEST_STREAM:
            raise ModelError(f"the model server's answer is larger than {LARGEST_STREAM // 2**20} MiB")
        if time.monotonic() > deadline:
            raise httpx2.ReadTimeout("the answer took too long")
        yield chunk


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a stream; ModelError for one that does not end."""
    held = b""
    for chunk in chunks:
        *lines, held = (held + chunk).split(b"\n")
        yield from lines
        if len(held) > LONGEST_LINE:
            raise ModelError("the model server sends an endless line")
    if held:
        yield held


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ModelError(f"the model server did not answer with JSON: {data[:120]!r}") from None
