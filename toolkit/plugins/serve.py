"""Serving a Python plugin over HTTP as the standard says: `POST /api/NAME`, `/manifest.json`, `/health`, OpenAPI.

Needs the extra `serve`. What an API may be called with is enforced by the very toolbox that callers use. Knows nothing
of models or prompts.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

from toolkit.errors import UserError
from toolkit.plugins.examples import example_calls
from toolkit.plugins.manifest import API_VERSION, MAX_HISTORY, Manifest
from toolkit.plugins.plugin import CRASHED, PLACEHOLDER, Plugin, toolbox_of
from toolkit.plugins.writing import manifest_json
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import MAX_ARGUMENT, Toolbox

MAX_BODY = 1 << 20  # bytes of a request


class HistoryTurn(BaseModel):
    """One turn of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant"]
    text: Annotated[str, Field(max_length=100_000)]


class Exchange(BaseModel):
    """The body of a call. Unknown fields are ignored, so that later versions can add some."""

    model_config = ConfigDict(extra="ignore")

    api: str
    arguments: Annotated[str, Field(max_length=MAX_ARGUMENT)] = ""
    history: Annotated[list[HistoryTurn], Field(max_length=MAX_HISTORY)] = []


class Result(BaseModel):
    """The answer to a call that worked."""

    result: str


class Failure(BaseModel):
    """The answer to any other call: one line that says why."""

    error: str


FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "The body is not what the standard says."},
    404: {"model": Failure, "description": "There is no such API, or it has no result for these arguments."},
    413: {"model": Failure, "description": "The body is too large."},
    422: {"model": Failure, "description": "The arguments are refused."},
    500: {"model": Failure, "description": "The API failed; the call may be tried again."},
}


def make_app(plugin: Plugin, base_url: str = PLACEHOLDER) -> FastAPI:
    """The ASGI application of a plugin; `base_url` is where callers reach it and stands in the manifest."""
    manifest = plugin.manifest(base_url)
    app = FastAPI(title=plugin.name, description=plugin.description, version=f"{API_VERSION}")
    app.add_exception_handler(HTTPException, _http_failure)
    toolbox = toolbox_of(manifest.apis, plugin.tools)

    @app.get("/manifest.json", summary="The plugin's manifest")
    def read_manifest() -> Response:
        return Response(manifest_json(manifest), media_type="application/json")

    @app.get("/health", summary="Whether the server is up")
    def read_health() -> dict[str, str]:
        return {"status": "ok", "plugin": plugin.name}

    for name in manifest.apis:
        _add_call(app, name, manifest, toolbox)
    return app


def _add_call(app: FastAPI, name: str, manifest: Manifest, toolbox: Toolbox) -> None:
    """The route of one API."""

    async def call(request: Request) -> JSONResponse:
        body = await _body(request)
        if body is None:
            return _failure(413, f"the body is larger than {MAX_BODY} bytes")
        try:
            exchange = Exchange.model_validate_json(body)
        except ValidationError as error:
            return _failure(400, _first(error))
        if exchange.api != name:
            return _failure(400, f"this is the address of {name}")
        history = [Turn(turn.role, turn.text) for turn in exchange.history]
        return _answer(await run_in_threadpool(toolbox.run, name, exchange.arguments, history))

    described = _described(name, manifest)
    app.add_api_route(f"/api/{name}", call, methods=["POST"], name=name, operation_id=name, **described)


def _described(name: str, manifest: Manifest) -> dict[str, Any]:
    """What the OpenAPI document says about one API, its first example included."""
    schema = Exchange.model_json_schema()
    schema["properties"]["history"]["items"] = schema.pop("$defs")["HistoryTurn"]
    request: dict[str, Any] = {"schema": schema}
    answer: dict[str, Any] = {"description": "The result."}
    for question, text in manifest.apis[name].examples:
        if call := next((call for call in example_calls(text) if call.name == name), None):
            request["example"] = {"api": name, "arguments": call.arguments, "history": []}
            answer["content"] = {"application/json": {"example": {"result": call.result or ""}}}
            answer["description"] = f"The result, for example for: {question}"
            break
    return {
        "summary": f"Call {name}",
        "response_model": Result,
        "responses": {200: answer, **FAILURES},
        "openapi_extra": {"requestBody": {"required": True, "content": {"application/json": request}}},
    }


async def _body(request: Request) -> bytes | None:
    """The request's body, or None when it is too large; never more than the cap is held."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            return None
    return bytes(body)


def _answer(outcome: Outcome) -> JSONResponse:
    """The HTTP form of an outcome."""
    if outcome.ok:
        return JSONResponse({"result": outcome.text})
    if outcome.status == "refused":
        return _failure(422, outcome.text)
    return _failure(500 if outcome.text == CRASHED else 404, outcome.text)


def _failure(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": " ".join(text.split())}, status_code=status)


async def _http_failure(request: Request, error: Exception) -> JSONResponse:
    """Unknown paths and methods in the standard's error body."""
    assert isinstance(error, HTTPException)
    return _failure(error.status_code, str(error.detail))


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"


def find_plugin(target: str) -> Plugin:
    """The `Plugin` that `module:name` means; the working directory is searched too. UserError when there is none."""
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise UserError(f"{target!r} does not name a plugin", fix="write module:variable, for example my_plugin:plugin")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(f"there is no module {error.name}", target, "run this where the module's file is") from error
    except UserError:
        raise
    except Exception as error:  # the author's module may raise anything; the author needs the line
        raise UserError(f"the module fails at import: {type(error).__name__}: {error}", target) from error
    found = getattr(module, name, None)
    if not isinstance(found, Plugin):
        what = "is not a Plugin" if hasattr(module, name) else "does not exist"
        raise UserError(f"{name} {what} in module {module_name}", target, 'write plugin = Plugin("name", "...")')
    return found
