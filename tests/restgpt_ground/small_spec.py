"""A small description that has one of everything, and a raw socket server that sends exactly what a test wants."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from toolkit.restgpt.spec import Spec, spec_from_document


def document(server: str = "http://api.test/v1") -> dict[str, Any]:
    item = {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string", "minLength": 1}, "count": {"type": "integer", "minimum": 0},
                       "kind": {"enum": ["book", "map"]}, "id": {"type": "integer", "readOnly": True},
                       "parent": {"$ref": "#/components/schemas/Item"}},
    }  # fmt: skip
    ok = {
        "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Items", "version": "1"},
        "servers": [{"url": server}],
        "security": [{"token": []}],
        "paths": {
            "/items": {
                "get": {
                    "summary": "List items.",
                    "parameters": [
                        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 50}},
                        {"name": "kind", "in": "query",
                         "schema": {"type": "array", "items": {"enum": ["book", "map"]}}},
                        {"name": "fields", "in": "query", "style": "form", "explode": False,
                         "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    ],
                    "responses": ok,
                },
                "post": {
                    "requestBody": {"required": True, "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Item"}}}},
                    "responses": {"201": ok["200"]},
                },
            },
            "/items/latest": {"get": {"responses": ok}},
            "/items/{item_id}": {
                "parameters": [{"name": "item_id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "get": {"responses": ok},
                "delete": {"responses": {"204": {"description": "gone"}}},
            },
            "/files/{name}.csv": {
                "get": {"responses": {"200": {"content": {"text/csv": {"schema": {"type": "string"}}}}}}
            },
        },
        "components": {"schemas": {"Item": item}, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }  # fmt: skip


def small_spec(server: str = "http://api.test/v1") -> Spec:
    return spec_from_document(document(server))


Answerer = Callable[[socket.socket, bytes], None]


@contextlib.contextmanager
def raw_server(answer: Answerer) -> Iterator[tuple[str, list[bytes]]]:
    """A local server that gives each connection (and the bytes of its request) to `answer`; yields URL and requests."""
    listener = socket.create_server(("127.0.0.1", 0))
    requests: list[bytes] = []
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    received = connection.recv(65536)
                    requests.append(received)
                    answer(connection, received)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        stop.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def whole(text: bytes) -> Answerer:
    """Send these bytes and close."""
    return lambda connection, _: connection.sendall(text)


def drip(text: bytes, pause: float) -> Answerer:
    """Send one byte at a time, for ever repeating the last one."""

    def answer(connection: socket.socket, _: bytes) -> None:
        for index in range(10_000):
            connection.sendall(text[min(index, len(text) - 1) :][:1])
            time.sleep(pause)

    return answer
