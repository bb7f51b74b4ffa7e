"""The example service: its description is current, its questions can be answered by the calls they name."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from toolkit.restgpt.exchange import Exchange, RestCall
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.schema_check import schema_problems
from toolkit.restgpt.spec import load_spec

pytest.importorskip("fastapi")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "library_service"
SPEC = load_spec(FOLDER / "openapi.yaml")
QUESTIONS = yaml.safe_load((FOLDER / "questions.yaml").read_text(encoding="utf-8"))["questions"]


def load_service() -> ModuleType:
    found = importlib.util.spec_from_file_location("library_service_example", FOLDER / "service.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


SERVICE = load_service()


@pytest.fixture
def client() -> RestClient:
    return RestClient(SPEC, credentials={"library_card": "demo-card"}, transport=SERVICE.create_app())


def read(client: RestClient, path: str, **query: Any) -> Any:
    exchange = client.call(RestCall("GET", path, query=query))
    assert exchange.ok, exchange
    return exchange.json


def test_the_committed_description_is_current() -> None:
    committed = yaml.safe_load((FOLDER / "openapi.yaml").read_text(encoding="utf-8"))
    assert committed == SERVICE.description(), "run: python examples/library_service/service.py --export"
    assert SPEC.repairs == [] and len(SPEC.endpoints) == 17
    assert {endpoint.method for endpoint in SPEC.endpoints} == {"GET", "POST", "PATCH", "DELETE"}


def test_the_same_seed_is_the_same_library() -> None:
    first, second, other = (SERVICE.create_app(seed).state.catalogue for seed in (0, 0, 1))
    assert first.copies == second.copies and first.loans == second.loans != other.loans


def follow(client: RestClient, step: str, question: str, seen: dict[str, Any]) -> Exchange:
    """Make the call a path names, taking what it needs from the question and from earlier answers."""
    endpoint = SPEC.match(*step.split(maxsplit=1))
    assert endpoint is not None, step
    book = next((row for row in client_books(client) if row["title"] in question), None)
    if book is not None:
        seen.update(book_id=book["id"], author_id=book["author_id"])
    values = {parameter.name: seen[parameter.name] for parameter in endpoint.of_place("path")}
    query: dict[str, Any] = {}
    if endpoint.path == "/search/books":
        query = {"title": book["title"]} if book else {"subject": "birds"}
    elif endpoint.path == "/search/authors":
        query = {"name": "Marwood"}
    fields = SPEC.resolve(endpoint.body.schema)["properties"] if endpoint.body else None
    body = {name: seen[name] for name in fields} if fields else None
    exchange = client.call(RestCall(endpoint.method, endpoint.path, values, query, body))
    assert exchange.ok, exchange
    for row in exchange.json if isinstance(exchange.json, list) else [exchange.json or {}]:
        if row.get("title", "") in question or not row.get("title"):
            seen.setdefault("loan_id", row.get("id") if "due" in row else None)
            if row.get("available"):
                seen["copy_id"] = row["id"]
            if "home_branch_id" in row:
                seen["branch_id"] = row["home_branch_id"]
        if seen.get("loan_id") is None:
            seen.pop("loan_id", None)
    return exchange


def client_books(client: RestClient) -> list[dict[str, Any]]:
    return list(read(client, "/search/books", limit=50)["books"])


@pytest.mark.parametrize("entry", QUESTIONS, ids=lambda entry: entry["question"])
def test_the_path_of_every_question_leads_to_its_answer(client: RestClient, entry: dict[str, Any]) -> None:
    seen: dict[str, Any] = {}
    answers = [follow(client, step, entry["question"], seen) for step in entry["path"]]
    text = "".join(json.dumps(exchange.json) for exchange in answers)
    for part in entry["answer"] or []:
        assert part in text
    then = entry.get("then")
    writes = [exchange for exchange in answers if exchange.method != "GET"]
    assert bool(writes) == (then is not None)
    if then:
        after = json.dumps(read(client, then["get"]))
        fresh = RestClient(SPEC, credentials={"library_card": "demo-card"}, transport=SERVICE.create_app())
        before = json.dumps(read(fresh, then["get"]))
        wanted, unwanted = then.get("has"), then.get("lacks")
        assert (wanted in after and wanted not in before) if wanted else (unwanted in before and unwanted not in after)


def test_answers_conform_to_the_description(client: RestClient) -> None:
    book = client_books(client)[0]
    own = [f"/books/{book['id']}{part}" for part in ("", "/copies", "/reviews")] + [f"/authors/{book['author_id']}"]
    for path in ("/search/books", "/subjects", "/branches", "/me", "/me/loans", "/me/holds", *own):
        endpoint = SPEC.match("GET", path)
        assert endpoint is not None and endpoint.success is not None and endpoint.success.schema is not None
        assert schema_problems(read(client, path), endpoint.success.schema, SPEC.resolve) == []


def test_rules_and_errors(client: RestClient) -> None:
    without_card = RestClient(SPEC, transport=SERVICE.create_app())
    refused = without_card.call(RestCall("GET", "/me"))
    assert refused.error == "unauthorized" and "REST_KEY_LIBRARY_CARD" in refused.message
    assert client.call(RestCall("GET", "/books/1")).error == "not_found"
    loan = read(client, "/me/loans")[0]
    assert client.call(RestCall("POST", "/me/loans", body={"copy_id": loan["copy_id"]})).status == 409
    renew = RestCall("PATCH", "/me/loans/{loan_id}", {"loan_id": loan["id"]})
    assert [client.call(renew).status for _ in range(2)] == [200, 409]
    assert client.call(RestCall("DELETE", f"/me/loans/{loan['id']}")).status == 204
    assert loan["id"] not in [row["id"] for row in read(client, "/me/loans")]
    review = RestCall("POST", f"/books/{loan['book_id']}/reviews", body={"stars": 6, "text": "x"})
    assert not client.call(review).was_sent
