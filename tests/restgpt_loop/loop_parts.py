"""A small tool-rental service in this process, its description, and helpers to script a model for it."""

from __future__ import annotations

import json
from typing import Any

import httpx2

SECRET = "token-that-nobody-may-see"


def _json(schema: dict[str, Any], status: str = "200") -> dict[str, Any]:
    return {status: {"description": "ok", "content": {"application/json": {"schema": schema}}}}


def _object(**fields: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}


def document() -> dict[str, Any]:
    """The description, OpenAPI 3.0."""
    tool = {"name": "tool_id", "in": "path", "required": True, "schema": {"type": "integer"}}
    rental = {"name": "rental_id", "in": "path", "required": True, "schema": {"type": "integer"}}
    name = {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}
    order = {"name": "order", "in": "query", "schema": {"type": "string", "enum": ["price", "name"]}}
    hits = {
        "type": "object",
        "properties": {"results": {"type": "array", "items": _object(id="integer", name="string")}},
    }
    body = {"type": "object", "properties": {"tool_id": {"type": "integer"}, "days": {"type": "integer"}}}
    body["required"] = ["tool_id", "days"]
    content = {"required": True, "content": {"application/json": {"schema": body}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Tool rental", "version": "1"},
        "servers": [{"url": "http://rental.test"}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/tools/search": {
                "get": {"summary": "Finds tools by name.", "parameters": [name, order], "responses": _json(hits)}
            },
            "/tools/{tool_id}": {
                "parameters": [tool],
                "get": {"summary": "Details of a tool.", "responses": _json(_object(id="integer", daily="number"))},
            },
            "/rentals": {
                "post": {
                    "summary": "Rents a tool.",
                    "requestBody": content,
                    "responses": _json(_object(id="integer"), "201"),
                }
            },
            "/rentals/{rental_id}": {
                "parameters": [rental],
                "delete": {"summary": "Ends a rental.", "responses": {"204": {"description": "ended"}}},
            },
        },
    }


class Service:
    """Answers like the description says; `override` replaces the answer of a path."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        self.override: dict[str, Any] = {}
        self.rentals: dict[int, dict[str, Any]] = {}

    @property
    def paths(self) -> list[str]:
        """Verb and path of every request, in order."""
        return [f"{request.method} {request.url.path}" for request in self.requests]

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        path = request.url.path
        if path in self.override:
            answer = self.override[path]
            if isinstance(answer, Exception):
                raise answer
            return answer(request) if callable(answer) else answer
        if path == "/tools/search":
            found = [{"id": 4711, "name": "Cordless drill"}] if "drill" in request.url.params["name"].lower() else []
            return httpx2.Response(200, json={"results": found})
        if path == "/tools/4711":
            return httpx2.Response(200, json={"id": 4711, "name": "Cordless drill", "daily": 12.5, "stock": 3})
        if path == "/rentals":
            self.rentals[900 + len(self.rentals)] = json.loads(request.content)
            return httpx2.Response(201, json={"id": max(self.rentals)})
        if path.startswith("/rentals/"):
            self.rentals.pop(int(path.rpartition("/")[2]), None)
            return httpx2.Response(204)
        return httpx2.Response(404, json={"message": "no such thing"})


def planner(signal: str, text: str, solved: bool = True) -> dict[str, Any]:
    return {"when": "You are the Planner", "reply": {"signal": signal, "text": text, "solved": solved}}


def selector(*calls: str) -> dict[str, Any]:
    reply = {"calls": [{"call": call, "purpose": "for the test"} for call in calls], "note": ""}
    return {"when": "You are the API selector", "reply": reply}


def caller(call: str, query: Any = None, body: Any = None) -> dict[str, Any]:
    method, _, path = call.partition(" ")
    reply = {"method": method, "path": path, "query": query or {}, "output": "what is wanted"}
    return {"when": "You are the Caller", "reply": {**reply, "body": body} if body is not None else reply}


def parser(code: str) -> dict[str, Any]:
    return {"when": "You write a short Python program", "reply": f"Sure!\n```python\n{code}\n```\nDone."}


SEARCH = caller("GET /tools/search", {"name": "drill"})
SEARCH_CODE = parser("for tool in data['results']:\n    print(f\"{tool['name']} has the id {tool['id']}\")")
DETAIL = caller("GET /tools/4711")
DETAIL_CODE = parser("print('daily price', data['daily'])")
FOUND = [planner("next", "Find the drill"), selector("GET /tools/search"), SEARCH, SEARCH_CODE]
