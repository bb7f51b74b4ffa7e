"""A scripted model server on a loopback socket that streams server-sent events, or misbehaves as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What one request gets. `raw` is written as it is; `status` other than 200 gets `raw` as its whole body."""

    raw: Iterable[bytes] = ()
    status: int = 200
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


def events(texts: Iterable[str], chat: bool = False, reason: str | None = "stop", done: bool = True) -> Iterator[bytes]:
    """Texts as events, one each."""
    for text in texts:
        choice = {"delta": {"content": text}} if chat else {"text": text}
        yield f"data: {json.dumps({'choices': [{**choice, 'finish_reason': None}]})}\n\n".encode()
    if reason is not None:
        choice = {"delta": {}} if chat else {"text": ""}
        yield f"data: {json.dumps({'choices': [{**choice, 'finish_reason': reason}]})}\r\n\r\n".encode()
    if done:
        yield b": a comment\n\ndata: [DONE]\n\n"


def streamed(text: str, size: int = 3, chat: bool = False, **options: Any) -> Reply:
    """A text in parts of `size` characters."""
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return Reply(events(parts, chat, **options))


def whole(text: str, chat: bool = False, reason: str = "stop") -> Reply:
    """A server that does not stream."""
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    return Reply([json.dumps({"choices": [{**said, "finish_reason": reason}]}).encode()], kind="application/json")


@dataclass
class Seen:
    """The base URL, and the requests so far: path, body, headers."""

    url: str = ""
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body, _ in self.requests]


@contextmanager
def model_server(answer: Callable[[dict[str, Any]], Reply]) -> Iterator[Seen]:
    """Serve `answer`, a function from a request's body to its reply, until the block ends."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": "first-model"}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.requests.append((self.path, body, dict(self.headers)))
            reply = answer(body)
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for part in reply.raw:
                    self.wfile.write(part)
                    self.wfile.flush()
            except (BrokenPipeError, ConnectionResetError):
                return  # the client hung up, as it does at a call

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    seen.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()


def science_model(body: dict[str, Any]) -> Reply:
    """A base model that calls MATH and makes a result up, which must never be seen."""
    prompt = body["prompt"]
    if prompt.endswith("-> 408]"):
        return streamed(" 408, d\u00e9j\u00e0 vu.\n<Guest> What else?\n<AI> Nothing.\n")
    if prompt.endswith("What is 12 * 34?\n<AI>"):
        return streamed(" It is [MATH(12 * 34) -> 999] 999.\n")
    return streamed(" I do not know.\n")
