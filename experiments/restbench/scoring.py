"""Scores an episode from its record alone: success by replaying its requests in its world, both correct paths, path
measures, and, for a failure, the module that it is put down to.

The rules that put a failure down to a module are ours; RestGPT's figure 3 gives names of error kinds, but no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.restbench.gold import GoldPath
from experiments.restbench.metrics import contains, correct_path, delta_length, endpoints, tool_share
from experiments.restbench.play import HttpRecord, replay
from experiments.restbench.record import RestSample, of_kind
from experiments.restbench.scenario import Bench, Sitting, World

SCORERS = ("success", "correct_path", "correct_path_v2")
# Classes of failures in the order in which they are looked for: the first that applies is taken.
OUTCOMES = {
    "success": "the oracle of the task is satisfied",
    "model_error": "the model gave no text: server down, or no room left for an answer",
    "looped": "a limit was reached: the plan went on and on",
    "no_usable_answer": "the planning prompt got nothing usable from the model, repairs included",
    "caller_wrong_value": "all calls of an acceptable path, but the account did not become as wished",
    "parser_wrong": "all calls of an acceptable path, but the answer is wrong or was not in their responses",
    "selector_invented_parameter": "no call was chosen for a sub-task, the last reason being an invented or open id",
    "selector_wrong_api": "a call outside every acceptable path, or none that the description knows",
    "caller_bad_request": "no valid request for a chosen call, or the service refused it",
    "planner_stopped_early": "right calls only, but the plan ended before the path did",
}
_WRITES = {"POST", "PUT", "DELETE", "PATCH"}
_INVENTED = ("appears neither", "is not filled")


def judge(sample: RestSample, bench: Bench, scorers: Sequence[str] = SCORERS) -> None:
    """Fill in scores, measures, reason and outcome of a record. Raises RunError when the service answers otherwise."""
    about = sample["task"]
    index = about["index"]
    sitting = Sitting(bench.scenario, World(about["world"], about["counterfactual"]))
    replay(sitting, sample["http"])
    verdict = sitting.judge(bench.tasks[index], sample["text"])
    made = endpoints(sitting.episode.log)
    accepted = bench.accepted_paths[index]
    found = {
        "success": verdict.ok,
        "correct_path": contains(made, bench.published_paths[index]),
        "correct_path_v2": correct_path(made, accepted),
    }
    sample["scores"] = {**sample.get("scores", {}), **{name: found[name] for name in scorers}}
    sample["reason"] = verdict.reason
    requests = len(sample["http"])
    sample["measures"] = {
        "requests": requests,
        "tool_share": round(tool_share(made, accepted), 6),
        "delta_length": delta_length(requests, made, accepted) if verdict.ok else None,
    }
    sample["outcome"] = "success" if verdict.ok else failure(sample, found["correct_path_v2"], accepted)


def failure(sample: RestSample, path: bool, accepted: Sequence[GoldPath]) -> str:
    """The class of a failed episode, see OUTCOMES; `path`: whether it made all calls of an acceptable path."""
    trace, http = sample["trace"], sample["http"]
    if sample["finish"] == "model_error":
        return "model_error"
    if sample["finish"] == "limit":
        return "looped"
    if sample["finish"] == "could_not" and _gave_up(trace):
        return "no_usable_answer"
    if path:
        return "caller_wrong_value" if any(sent["method"] in _WRITES for sent in http) else "parser_wrong"
    refusals = [step["unusable"] for step in _last_attempts(trace, "selector")]
    if any(word in refusal for refusal in refusals for word in _INVENTED):
        return "selector_invented_parameter"
    unsent = {step.get("error") for step in of_kind(trace, "exchange") if "status" not in step}
    known = {step for gold in accepted for step in gold.steps}
    if refusals or "unknown_endpoint" in unsent or any(_ok(sent) and sent["endpoint"] not in known for sent in http):
        return "selector_wrong_api"
    if _last_attempts(trace, "caller") or "invalid_call" in unsent or not all(map(_ok, http)):
        return "caller_bad_request"
    return "planner_stopped_early"


def _ok(sent: HttpRecord) -> bool:
    return 200 <= sent["status"] < 300


def _gave_up(trace: list[dict[str, Any]]) -> bool:
    """Whether the last thing the model wrote was unusable, so that the run ended there."""
    written = of_kind(trace, "model")
    return bool(written) and "unusable" in written[-1]


def _last_attempts(trace: list[dict[str, Any]], module: str) -> list[dict[str, Any]]:
    """The answers of a module that were given up: unusable, and not followed by another attempt that was usable."""
    written = [step for step in trace if step["kind"] == "model"]
    return [
        step
        for place, step in enumerate(written)
        if step["module"] == module
        and "unusable" in step
        and not (place + 1 < len(written) and written[place + 1]["module"] == module)
    ]
