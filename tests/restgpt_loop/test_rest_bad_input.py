"""Everything that can go wrong outside: each is recorded, told to the model, and answered honestly. Nothing raises."""

from __future__ import annotations

import json
import time

import httpx2
import pytest
from loop_parts import DETAIL, FOUND, SEARCH, SEARCH_CODE, SECRET, caller, parser, planner, selector

from toolkit.models.completion import ModelError
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.http import HttpLimits

QUESTION = "Which drills are there?"
GAVE_UP = planner("end", "The service did not answer.", solved=False)
READ = {"when": "You read the wanted information", "reply": {"answer": "The drill has the id 4711."}}


def slow(_: httpx2.Request) -> httpx2.Response:
    """One byte at a time, for ever: slow-loris."""

    def drip():
        while True:
            time.sleep(0.02)
            yield b" "

    return httpx2.Response(200, headers={"content-type": "application/json"}, content=drip())


def huge(_: httpx2.Request) -> httpx2.Response:
    """50 MB."""
    chunks = (b"x" * 2**20 for _ in range(50))
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=chunks)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (httpx2.ConnectError("Connection refused"), "connect"),
        (httpx2.RemoteProtocolError("not HTTP"), "protocol"),
        (httpx2.Response(401, json={"message": "who are you"}), "unauthorized"),
        (httpx2.Response(403, json={"message": "not yours"}), "forbidden"),
        (httpx2.Response(404, json={"message": "gone"}), "not_found"),
        (httpx2.Response(429, json={"message": "slow down"}), "rate_limited"),
        (httpx2.Response(500, text="Traceback: boom"), "server_error"),
        (httpx2.Response(503), "server_error"),
        (httpx2.Response(200, html="<html><body>log in</body></html>"), "not_json"),
        (
            httpx2.Response(200, content=b'{"a": "\xff\xfe"}', headers={"content-type": "application/json"}),
            "bad_encoding",
        ),
        (httpx2.Response(302, headers={"location": "http://elsewhere.test/"}), "redirect"),
        (slow, "timeout"),
        (huge, "too_large"),
    ],
)
def test_service_failures(rest, service, given, kind):
    service.override["/tools/search"] = given
    answer = rest([*FOUND[:3], GAVE_UP], http=HttpLimits(retries=0, seconds=0.3)).ask(QUESTION)
    assert (answer.status, answer.text) == ("could_not", "Could not: The service did not answer.")
    (exchange,) = answer.trace.of("exchange")
    assert exchange["error"] == kind
    told = rest.model.prompts[-1].rest
    assert "GET /tools/search failed" in told and kind.replace("_", " ") in told
    assert all(request.url.host == "rental.test" for request in service.requests)


def test_a_wrong_request_goes_back_to_the_caller_once(rest, service):
    answers = [httpx2.Response(400, json={"message": "name too short"})]
    real = service.override
    real["/tools/search"] = lambda request: answers.pop() if answers else httpx2.Response(200, json={"results": []})
    script = [*FOUND[:3], SEARCH, parser("print('none')"), planner("end", "There are none.")]
    assert rest(script).ask(QUESTION).solved
    asked = [prompt.rest for prompt in rest.model.prompts if "You are the Caller" in prompt.fixed]
    assert len(asked) == 2 and "name too short" in asked[1]


def test_success_is_not_claimed_when_every_call_failed(rest, service):
    service.override["/tools/search"] = httpx2.Response(500)
    answer = rest([*FOUND[:3], planner("end", "There are 10 drills.")]).ask(QUESTION)
    assert answer.status == "could_not" and "no call to the service succeeded" in answer.text


@pytest.mark.parametrize(
    "text", ["I would rather chat.", "", "{", "[1, 2]", '{"signal": "stop"}', "[" * 5000, "{" * 5000]
)
def test_model_text_that_is_no_usable_json(rest, text):
    answer = rest([text] * 3).ask(QUESTION)
    assert answer.status == "could_not" and answer.text.startswith("Could not go on: the planner got no usable answer")
    assert all(step["unusable"] for step in answer.trace.of("model"))


@pytest.mark.parametrize(
    "text",
    [
        'Here it is:\n```json\n{"signal": "next", "text": "Find the drill", "solved": true}\n```\nAnything else?',
        "<think>{hm}</think>{'signal': 'next', 'text': 'Find the drill', 'solved': True,}",
        '{"signal": "next", "text": "Find the drill", "solved": true',
    ],
)
def test_json_with_words_around_it_or_small_faults_is_read(rest, text):
    assert rest([text, *FOUND[1:], planner("end", "4711")]).ask(QUESTION).solved


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1", "printed nothing"),
        ("print(data['nope'])", "KeyError"),
        ("print(", "SyntaxError"),
        ("import os", "refused"),
        ("while True: pass", "timeout"),
    ],
)
def test_code_that_fails_is_mended_with_its_error(rest, monkeypatch, code, reason):
    monkeypatch.setattr("toolkit.restgpt.parser.SANDBOX", _quick())
    answer = rest([*FOUND[:3], parser(code), SEARCH_CODE, planner("end", "4711")]).ask(QUESTION)
    assert answer.solved
    asked = [prompt.rest for prompt in rest.model.prompts if "Python program" in prompt.fixed]
    assert len(asked) == 2 and reason in asked[1]
    assert "4711" in answer.trace.of("result")[-1]["text"]


def _quick():
    from toolkit.restgpt.sandbox import SandboxLimits

    return SandboxLimits(seconds=1.0)


def test_code_that_never_works_falls_back_to_reading_the_json(rest):
    answer = rest([*FOUND[:3], *[parser("x = 1")] * 3, READ, planner("end", "4711")]).ask(QUESTION)
    assert answer.solved
    assert [step["text"] for step in answer.trace.of("result")][-1] == "The drill has the id 4711."


def test_no_content_needs_no_parser(rest, service):
    script = [planner("next", "End rental 12"), selector("DELETE /rentals/12"), caller("DELETE /rentals/12")]
    answer = rest([*script, planner("end", "Ended.")], confirm=lambda _: True).ask("End my rental 12")
    assert answer.solved and service.paths == ["DELETE /rentals/12"]
    assert "the service answered 204" in rest.model.prompts[-1].rest


def test_a_dead_model_is_reported_with_what_was_found(rest):
    answer = rest(FOUND).ask(QUESTION)
    assert answer.status == "model_error" and "Found so far: Cordless drill has the id 4711" in answer.text


def test_a_model_error_at_the_start(rest, monkeypatch):
    agent = rest([])

    def fail(*_):
        raise ModelError("the model server is down")

    monkeypatch.setattr(agent.model, "complete", fail)
    assert agent.ask(QUESTION).text == "Could not go on: the model server is down."


def test_a_model_too_slow_for_the_run_is_the_limit_not_the_model(rest, monkeypatch):
    agent = rest([], limits=RunLimits(seconds=0.05))

    def slow(*_):
        time.sleep(0.06)
        raise ModelError("no answer in time")

    monkeypatch.setattr(agent.model, "complete", slow)
    assert agent.ask(QUESTION).status == "limit"


def test_writes_need_a_yes(rest, service):
    body = {"tool_id": 4711, "days": 2}
    script = [planner("next", "Rent it"), selector("POST /rentals"), caller("POST /rentals", body=body)]
    refused = rest([*script, planner("end", "Not allowed.", solved=False)]).ask("Rent the tool 4711 for 2 days")
    assert (refused.status, service.requests) == ("could_not", [])
    assert "the user did not allow it" in rest.model.prompts[-1].rest
    asked = []
    agent = rest(
        [*script, parser("print('rental', data['id'])"), planner("end", "Rental 900.")],
        confirm=lambda prepared: asked.append(prepared.body) or True,
    )
    assert agent.ask("Rent the tool 4711 for 2 days").solved
    assert asked == [body] and service.rentals == {900: body}


def test_dry_run_shows_and_sends_nothing(rest, service):
    script = [planner("next", "Both"), selector("GET /tools/search", "GET /tools/4711"), SEARCH, DETAIL]
    answer = rest(script, dry_run=True).ask("Compare with tool 4711")
    assert (answer.status, service.requests) == ("dry_run", [])
    urls = [call["url"] for call in answer.trace.of("call")]
    assert urls == ["http://rental.test/tools/search?name=drill", "http://rental.test/tools/4711"]


def test_a_dry_run_goes_on_when_no_call_is_planned(rest):
    nothing = {"when": "You are the API selector", "reply": {"calls": [], "note": "nothing fits"}}
    script = [planner("next", "Sing"), nothing, planner("end", "It cannot sing.", solved=False)]
    answer = rest(script, dry_run=True).ask("Sing!")
    assert answer.text == "Could not: It cannot sing." and "nothing fits" in rest.model.prompts[-1].rest


def test_secrets_never_reach_model_or_trace(rest, service):
    service.override["/tools/4711"] = lambda request: httpx2.Response(
        200, json={"echo": request.headers["authorization"]}
    )
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, parser("print(data)"), planner("end", "ok")]
    answer = rest(script).ask("Look at tool 4711")
    assert service.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    shown = f"{answer.record()}{answer.page()}{[prompt.text for prompt in rest.model.prompts]}"
    assert answer.solved and SECRET not in shown


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (json.dumps({"echo": SECRET}).encode("utf-16"), {"content-type": "application/json; charset=utf-16"}),
        (f'{{"echo": "\\u{ord(SECRET[0]):04x}{SECRET[1:]}"}}'.encode(), {"content-type": "application/json"}),
        (b"{}", {"content-type": f"application/json; key={SECRET}"}),
        (b"{}", {"content-type": "application/json", "content-encoding": SECRET}),
        (json.dumps({SECRET: 1}).encode(), {"content-type": "application/json"}),
    ],
)
def test_a_secret_echoed_in_disguise_is_hidden(rest, service, content, headers):
    service.override["/tools/4711"] = lambda _: httpx2.Response(200, stream=httpx2.ByteStream(content), headers=headers)
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, parser("print(data)"), planner("end", "ok")]
    answer = rest(script).ask("Look at tool 4711")
    shown = f"{answer.record()}{answer.page()}{[prompt.text for prompt in rest.model.prompts]}"
    assert len(answer.trace.of("exchange")) == 1 and SECRET not in shown


def test_a_call_ends_with_the_seconds_of_the_run(rest, service):
    service.override["/tools/4711"] = slow
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL]
    answer = rest(script, limits=RunLimits(seconds=1.0)).ask("Look at tool 4711")
    assert (answer.status, answer.trace.of("exchange")[0]["error"]) == ("limit", "timeout")
    assert answer.budget["spent"]["seconds"] < 20


def test_tokens_are_a_hard_limit(rest):
    script = [*FOUND, planner("end", "The drill has the id 4711.")]
    whole = rest(script).ask("Which id has the drill?").budget["spent"]["tokens"]
    for limit in (whole // 3, whole // 2, whole - 1):
        answer = rest(script, limits=RunLimits(tokens=limit)).ask("Which id has the drill?")
        assert answer.status == "limit" and answer.budget["spent"]["tokens"] <= limit
    assert rest(script, limits=RunLimits(tokens=whole)).ask("Which id has the drill?").solved


def test_a_query_that_grows_without_end_is_contained(rest):
    bomb = {"when": "JMESPath", "reply": {"query": "[@,@][]" + "|[@,@][]" * 40}}
    direct = {"when": "You read the wanted", "reply": {"answer": "The daily price is 12.5."}}
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, bomb]
    wrong = {"when": "JMESPath", "reply": {"query": "nope("}}
    answer = rest([*script, wrong, wrong, direct, planner("end", "12.5")], strategy="jmespath").ask("Look at tool 4711")
    assert answer.solved and answer.trace.of("code")[0]["status"] in ("memory", "timeout")


def test_texts_that_utf8_cannot_hold(rest, service):
    headers = {"content-type": "application/json"}
    service.override["/tools/4711"] = httpx2.Response(200, content=b'{"name": "a\\ud800b"}', headers=headers)
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, parser("print(data['name'])")]
    answer = rest([*script, planner("end", "ok")]).ask("Look at tool 4711")
    assert answer.solved and answer.page()
    for prompt in rest.model.prompts:
        prompt.text.encode("utf-8")


def test_long_answers_are_kept_short_in_the_record(rest, service):
    service.override["/tools/4711"] = httpx2.Response(200, json={"name": "x" * 50_000})
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, parser("print(len(data['name']))")]
    answer = rest([*script, planner("end", "50000")]).ask("Look at tool 4711")
    assert answer.trace.of("result")[-1]["text"] == "50000"
    assert len(str(answer.record())) < 40_000


def test_a_hostile_answer_stays_text_on_the_page(rest, service):
    service.override["/tools/4711"] = httpx2.Response(200, json={"name": "<script>alert(1)</script>"})
    script = [planner("next", "Look"), selector("GET /tools/4711"), DETAIL, parser("print(data['name'])")]
    page = rest([*script, planner("end", "<img src=x onerror=alert(1)>")]).ask("Look at tool 4711 <b>").page()
    assert "<script>" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page
    assert "http://" not in page.replace("http://rental.test", "") and "https://" not in page
