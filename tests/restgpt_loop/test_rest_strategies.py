"""Every strategy on the same executor with a scripted model: order of questions and calls, endings, bounds."""

from __future__ import annotations

from typing import Any

import pytest
from loop_parts import DETAIL, DETAIL_CODE, FOUND, SEARCH, SEARCH_CODE, document, planner, selector

from toolkit.errors import UserError
from toolkit.models.scripted import ScriptedModel
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.http import RestClient
from toolkit.restgpt.run import Agent
from toolkit.restgpt.spec import spec_from_document
from toolkit.restgpt.strategies import STRATEGIES
from toolkit.restgpt.strategies.flat import signature

QUESTION = "What does a drill cost per day?"
BOTH = ["GET /tools/search", "GET /tools/4711"]


def steps(*calls: str) -> list[dict[str, str]]:
    return [{"call": call, "purpose": f"step {number}"} for number, call in enumerate(calls, 1)]


def offline(*calls: str) -> dict[str, Any]:
    return {"when": "before any of them is made", "reply": {"steps": steps(*calls)}}


def deps(*calls: str, answer: str = "", solved: bool = False) -> dict[str, Any]:
    reply = {"explanation": "so far so good", "steps": steps(*calls), "solved": solved, "answer": answer}
    return {"when": "write the remaining steps anew", "reply": reply}


def react(action: str, text: str, solved: bool = True) -> dict[str, Any]:
    return {
        "when": "think, choose one call",
        "reply": {"thought": "hm", "action": action, "input": text, "solved": solved},
    }


def conclude(answer: str, solved: bool = True) -> dict[str, Any]:
    return {"when": "from nothing else", "reply": {"solved": solved, "answer": answer}}


def reflect(good: bool, lesson: str) -> dict[str, Any]:
    return {"when": "You judge an attempt", "reply": {"good": good, "lesson": lesson}}


ACTED = [
    react("GET /tools/search", "find it"),
    SEARCH,
    SEARCH_CODE,
    react("GET /tools/4711", "price"),
    DETAIL,
    DETAIL_CODE,
]


def test_offline_plans_once_and_leaves_parameters_to_the_caller(rest, service):
    script = [offline("GET /tools/search", "GET /tools/{tool_id}"), SEARCH, SEARCH_CODE, DETAIL, DETAIL_CODE]
    answer = rest([*script, conclude("12.5 per day")], strategy="offline").ask(QUESTION)
    assert (answer.status, answer.text, service.paths) == ("answered", "12.5 per day", BOTH)
    assert sum("before any" in prompt.fixed for prompt in rest.model.prompts) == 1


def test_deps_revises_its_plan_after_every_step(rest, service):
    script = [deps("GET /tools/search", "POST /rentals"), SEARCH, SEARCH_CODE, deps("GET /tools/{tool_id}"), DETAIL]
    answer = rest([*script, DETAIL_CODE, deps(answer="12.5", solved=True)], strategy="deps").ask(QUESTION)
    assert (answer.text, service.paths) == ("12.5", BOTH)


def test_deps_ends_after_ten_steps(rest):
    again = [deps("GET /tools/search"), SEARCH, SEARCH_CODE]
    answer = rest(again * 10, strategy="deps").ask(QUESTION)
    assert answer.status == "limit" and "10 deps-steps" in answer.text


@pytest.mark.parametrize("name", ["react", "no-planner"])
def test_react_thinks_and_acts_in_turn(rest, service, name):
    answer = rest([*ACTED, react("finish", "12.5")], strategy=name).ask(QUESTION)
    assert (answer.strategy, answer.text, service.paths) == (name, "12.5", BOTH)


def test_react_refuses_invented_ids_and_answers_without_calls(rest, service):
    script = [react("finish", "10"), react("GET /tools/98765", "guess"), *ACTED, react("finish", "12.5")]
    assert rest(script, strategy="react").ask(QUESTION).solved and service.paths == BOTH


def test_react_is_bounded(rest):
    again = [react("GET /tools/search", "again"), SEARCH, SEARCH_CODE]
    answer = rest(again * 3, strategy="react", limits=RunLimits(sub_tasks=2)).ask(QUESTION)
    assert answer.status == "limit" and "2 sub-tasks" in answer.text


def test_reflexion_takes_its_lesson_into_the_second_trial(rest):
    first = [react("GET /tools/search", "find it"), SEARCH, SEARCH_CODE, react("finish", "unknown", solved=False)]
    script = [*first, reflect(True, "Look at the details too."), *ACTED, react("finish", "12.5")]
    answer = rest(script, strategy="reflexion").ask(QUESTION)
    assert answer.text == "12.5"
    trials = answer.trace.of("trial")
    assert [trial["lessons"] for trial in trials] == [[], ["Look at the details too."]]
    assert "Lesson of an earlier trial: Look at the details too." in rest.model.prompts[-1].rest


def test_reflexion_stops_after_a_good_first_trial(rest):
    answer = rest([*ACTED, react("finish", "12.5"), reflect(True, "")], strategy="reflexion").ask(QUESTION)
    assert answer.solved and len(answer.trace.of("trial")) == 1


def test_flat_calls_tools_and_reads_raw_answers(rest, service):
    script: list[Any] = [
        {"method": "GET", "path": "/tools/search", "query": {"name": "drill"}},
        {"method": "GET", "path": "/tools/{tool_id}", "query": {}},
        {"method": "GET", "path": "/tools/4711"},
        {"answer": "12.5", "solved": True},
    ]
    answer = rest(script, strategy="flat").ask(QUESTION)
    assert (answer.text, service.paths) == ("12.5", BOTH)
    assert '"daily": 12.5' in rest.model.prompts[-1].rest
    assert [exchange["error"] for exchange in answer.trace.of("exchange")] == [None, "invalid_call", None]


def test_a_tool_line_says_what_it_takes(spec):
    lines = [signature(spec, endpoint) for endpoint in spec.endpoints]
    assert lines[0] == "GET /tools/search (query: name*, order) Finds tools by name."
    assert "POST /rentals (body: tool_id*, days*) Rents a tool." in lines


def test_the_parser_ablations(rest):
    read = {"when": "You read the wanted information", "reply": {"answer": "id 4711"}}
    query = {"when": "one JMESPath query", "reply": {"query": "results[].id"}}
    bad = {"when": "one JMESPath query", "reply": {"query": "results[?"}}
    end = planner("end", "4711")
    direct = rest([*FOUND[:3], read, end], strategy="no-schema-parser").ask(QUESTION)
    assert direct.solved and not direct.trace.of("code")
    queried = rest([*FOUND[:3], bad, query, end], strategy="jmespath").ask(QUESTION)
    assert queried.solved and queried.trace.of("result")[-1]["text"] == "[4711]"
    assert [code["status"] for code in queried.trace.of("code")] == ["error", "ok"]


def test_the_record_of_a_step_is_whole(rest):
    answer = rest([*FOUND, planner("end", "4711")]).ask(QUESTION)
    record = answer.record()
    kinds = [step["kind"] for step in record["trace"]["steps"]]
    assert kinds == [
        *[
            "model",
            "sub_task",
            "model",
            "api_plan",
            "model",
            "call",
            "exchange",
            "model",
            "code",
            "result",
            "model",
            "answer",
        ]
    ]
    asked = record["trace"]["steps"][0]
    assert asked["fixed"] in record["trace"]["texts"] and len(asked["prompt"]) == 16
    assert asked["parsed"] == {"signal": "next", "text": "Find the drill", "solved": True}
    assert asked["tokens"]["read"] > 0 and asked["took"] >= 0


def test_an_unknown_strategy_names_the_known_ones(rest):
    with pytest.raises(UserError, match="restgpt, offline, deps"):
        rest([], strategy="magic").ask(QUESTION)
    assert len(STRATEGIES) == 9


def test_modules_share_their_fixed_part(rest):
    script = [*FOUND, planner("next", "price"), selector("GET /tools/4711"), DETAIL, DETAIL_CODE, planner("end", "x")]
    rest(script).ask(QUESTION)
    assert len({prompt.fixed for prompt in rest.model.prompts}) == 4


def test_flat_shows_the_tools_that_fit():
    """A description of two thousand endpoints does not fill the context; what the request names stays."""
    many = {**document(), "paths": {f"/things{n}": document()["paths"]["/tools/search"] for n in range(2000)}}
    many["paths"]["/drills"] = {"get": {"summary": "Lists drills.", "responses": {"200": {"description": "ok"}}}}
    model = ScriptedModel([{"when": "", "reply": {"answer": "none", "solved": False}}])
    big = spec_from_document(many)
    Agent(big, model, RestClient(big, transport=lambda _: None), "flat").ask("Which drills are there?")
    (prompt,) = model.prompts
    assert model.count(prompt.fixed) < 0.4 * model.context
    assert "\nGET /drills\n" in prompt.fixed and "more endpoints not shown" in prompt.fixed


@pytest.mark.parametrize("name", ["restgpt", "react", "deps"])
def test_prompts_stay_within_the_context_however_long_the_run(rest, name):
    """Many long results: every prompt still leaves room for its answer."""
    long = {"when": "You write a short Python program", "reply": "print('word ' * 5000)"}
    plans = {
        "restgpt": [planner("next", "Find it " * 40), selector("GET /tools/search")],
        "react": [react("GET /tools/search", "find it " * 40)],
        "deps": [deps("GET /tools/search")],
    }
    agent = rest([*plans[name], SEARCH, long] * 9, strategy=name, limits=RunLimits(sub_tasks=9))
    agent.model.context = 4096
    agent.ask(QUESTION)
    assert len(agent.model.prompts) > 24
    assert max(agent.model.count(prompt.text) for prompt in agent.model.prompts) < 4096 - 512
