"""RestGPT's loop with a scripted model: planning, continuing, ending, limits, and what is refused on the way."""

from __future__ import annotations

import pytest
from loop_parts import DETAIL, DETAIL_CODE, FOUND, SEARCH, SEARCH_CODE, caller, planner, selector

from toolkit.restgpt.budget import RunLimits

QUESTION = "What does a drill cost per day?"


def last_prompt(rest, words: str) -> str:
    return [prompt.rest for prompt in rest.model.prompts if words in prompt.fixed][-1]


def test_two_sub_tasks_and_an_answer(rest, service):
    script = [*FOUND, planner("next", "Find its price"), selector("GET /tools/4711"), DETAIL, DETAIL_CODE]
    answer = rest([*script, planner("end", "A drill costs 12.5 per day.")]).ask(QUESTION)
    assert (answer.text, answer.status, answer.solved) == ("A drill costs 12.5 per day.", "answered", True)
    assert service.paths == ["GET /tools/search", "GET /tools/4711"]
    assert answer.budget["spent"]["sub_tasks"] == 2
    past = last_prompt(rest, "You are the Planner")
    assert "Result 1: Cordless drill has the id 4711" in past and "Result 2: daily price 12.5" in past


def test_continue_goes_on_with_the_first_sub_task_and_its_attempts(rest):
    script = [*FOUND, planner("continue", "Read the price too"), selector("GET /tools/4711"), DETAIL, DETAIL_CODE]
    answer = rest([*script, planner("end", "12.5")]).ask(QUESTION)
    assert answer.budget["spent"]["sub_tasks"] == answer.budget["spent"]["continues"] == 1
    asked = last_prompt(rest, "You are the API selector")
    assert "Sub-task: Find the drill" in asked and "Instruction: Read the price too" in asked
    assert "Calls tried: GET /tools/search" in asked and "Background: No background." in asked


def test_signals_are_fields_not_words(rest):
    script = [*FOUND, planner("next", "Continue with 'Final Answer' as a title"), selector("GET /tools/4711")]
    answer = rest([*script, DETAIL, DETAIL_CODE, planner("end", "Continue")]).ask(QUESTION)
    assert (answer.text, answer.budget["spent"]["sub_tasks"]) == ("Continue", 2)


def test_several_calls_in_one_plan(rest, service):
    script = [planner("next", "Both"), selector("GET /tools/search", "GET /tools/4711"), SEARCH, SEARCH_CODE]
    rest([*script, DETAIL, DETAIL_CODE, planner("end", "done")]).ask("Compare tool 4711")
    assert service.paths == ["GET /tools/search", "GET /tools/4711"]


def test_an_answer_without_any_call_is_not_passed_off_as_one(rest):
    answer = rest([planner("end", "From memory: 10.")] * 3).ask(QUESTION)
    assert answer.status == "could_not" and "From memory" not in answer.text


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("GET /tools/{tool_id}", "is not filled"),
        ("GET /tools/<id>", "is not filled"),
        ("GET /tools/98765", "appears neither in the request"),
        ("GET /tools/rentals", "tool_id must be integer"),
        ("GET /nothing/here", "there is no endpoint"),
        ("FETCH /tools/search", "there is no endpoint"),
        ("GET http://elsewhere.test/tools/search", "there is no endpoint"),
    ],
)
def test_bad_selections_are_refused_with_the_reason_and_mended(rest, service, call, reason):
    script = [planner("next", "Find the drill"), selector(call), *FOUND[1:], planner("end", "4711")]
    answer = rest(script).ask(QUESTION)
    assert answer.solved and service.paths == ["GET /tools/search"]
    assert reason in last_prompt(rest, "You are the API selector")


@pytest.mark.parametrize(
    "call",
    ["`get /tools/search`", "GET http://rental.test/tools/search", "**GET /tools/search/**", "GET /tools/search."],
)
def test_decorated_calls_are_understood(rest, service, call):
    script = [planner("next", "Find the drill"), selector(call), *FOUND[2:], planner("end", "4711")]
    assert rest(script).ask(QUESTION).solved and service.paths == ["GET /tools/search"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (caller("GET /tools/search"), "name is required"),
        (caller("GET /tools/search", {"name": "drill", "colour": "red"}), "colour"),
        (caller("GET /tools/search", {"name": "drill", "order": "size"}), "order"),
        (caller("GET /tools/4711"), "must be to GET /tools/search"),
        (caller("GET http://elsewhere.test/tools/search", {"name": "drill"}), "no endpoint"),
        (caller("GET /tools/search", {"name": "drill"}, {"x": 1}), "takes no request body"),
    ],
)
def test_bad_requests_never_leave_and_are_mended(rest, service, bad, reason):
    script = [*FOUND[:2], bad, *FOUND[2:], planner("end", "4711")]
    assert rest(script).ask(QUESTION).solved
    assert reason in last_prompt(rest, "You are the Caller")
    assert [dict(request.url.params) for request in service.requests] == [{"name": "drill"}]


def test_a_selector_that_finds_nothing_is_a_result_not_an_end(rest):
    script = [planner("next", "Fly"), *[selector("GET /fly")] * 3, planner("end", "It cannot fly.", solved=False)]
    answer = rest(script).ask("Fly!")
    assert (answer.status, answer.text) == ("could_not", "Could not: It cannot fly.")
    assert "No suitable call was found" in last_prompt(rest, "You are the Planner")


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (RunLimits(sub_tasks=1), "sub_tasks"),
        (RunLimits(calls=1), "calls"),
        (RunLimits(tokens=10), "tokens"),
        (RunLimits(seconds=1e-9), "seconds"),
    ],
)
def test_every_limit_ends_the_run_and_is_reported(rest, limits, name):
    script = [*FOUND, planner("next", "Again"), *FOUND[1:], planner("end", "x")]
    answer = rest(script, limits=limits).ask(QUESTION)
    assert answer.status == "limit" and f"{name.replace('_', '-')} was reached" in answer.text
    assert answer.trace.of("limit")[0]["name"] == name


def test_continues_are_limited_per_sub_task(rest):
    again = [planner("continue", "Again"), *FOUND[1:]]
    answer = rest([*FOUND, *again, *again], limits=RunLimits(continues=1)).ask(QUESTION)
    assert answer.status == "limit" and "1 continues" in answer.text and "Found so far" in answer.text
