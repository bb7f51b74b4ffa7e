"""A minimal OpenAI-compatible server over any completion back end, on a loopback socket: what a llama.cpp server does.

`/v1/models`, `/v1/chat/completions` and `/v1/completions` with `stop`, `max_tokens` and `response_format`; an optional
bearer key.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from toolkit.models.completion import CompletionModel, Limits, Prompt, Schema

LOCK = threading.Lock()


def complete(model: CompletionModel, path: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """The answer's JSON for one request."""
    chat = path.endswith("/chat/completions")
    if chat:
        system, user = (message["content"] for message in wanted["messages"])
        prompt = Prompt(system, user)
    else:
        prompt = Prompt("", wanted["prompt"])
    wish = wanted.get("response_format", {})
    shape = Schema(wish["json_schema"]["schema"]) if wish.get("type") == "json_schema" else None
    with LOCK:
        done = model.complete([prompt], wanted.get("stop", []), Limits(wanted["max_tokens"]), shape)[0]
    said = {"message": {"role": "assistant", "content": done.text}} if chat else {"text": done.text}
    usage = {"prompt_tokens": done.usage.prompt, "completion_tokens": done.usage.written}
    return {"choices": [{**said, "finish_reason": done.finish}], "usage": usage}


@contextmanager
def openai_server(model: CompletionModel, key: str = "") -> Iterator[str]:
    """The base URL (`http://127.0.0.1:PORT/v1`) of a server for `model` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _send(self, status: int, data: Any) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": "tiny", "meta": {"n_ctx": model.context}}]})

        def do_POST(self) -> None:
            wanted = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if key and self.headers.get("authorization") != f"Bearer {key}":
                self._send(401, {"error": {"message": "wrong key"}})
            else:
                self._send(200, complete(model, self.path, wanted))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
