from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.operators import scoring
from experiments.operators.deviations import unlike_eval
from experiments.operators.scoring import OUTCOMES, judge, paper, strict
from experiments.suites.load import load_suite

SUITE = load_suite("operators")


def sample(text: str, truth: str = "15", finish: str = "stop", variant: str = "strict-arrow", **call: Any) -> Any:
    """A reply to `What is 5 * 3?`; with `arguments`, its first call is found in the text."""
    calls = []
    if call:
        written = f"[{call.get('name', 'MATH')}({call['arguments']})"
        start = len(text.split(written)[0].encode())
        entry = {"name": "MATH", "status": "ok", "result": "15", "start": start, "end": start + len(written.encode())}
        calls = [entry | call]
    expect = {"api": "MATH", "arguments": "5 * 3"}
    return {
        "text": text,
        "truth": truth,
        "finish": finish,
        "variant": variant,
        "calls": calls,
        "expect": expect,
        "skill": "*",
    }


@pytest.mark.parametrize(
    ("text", "truth", "answer", "passed"),
    [
        (" 5 * 3 is [MATH(5 * 3) -> 15] 15.", "15", "15", True),
        (" it is [MATH(5 * 3) -> 15]", "15", "15", True),  # marks become blanks
        (" it is [MATH(5 * 3)=15]", "15", "15", True),
        (" I do not know", "0", None, True),  # F1: the accident
        (" I do not know", "15", None, False),
        ("", "0", None, True),
        (" it is 15!", "15", None, False),  # F11
        (" it is 15, I think 3", "15", "3", False),
        (" that is 4.5", "5", "5", True),  # F11: the point becomes a blank
        (" 5 - 8 is -3.", "-3", "-3", True),
    ],
)
def test_paper_reads_the_last_token_as_the_original_did(text: str, truth: str, answer: str, passed: bool) -> None:
    assert paper(sample(text, truth)) == (answer, passed)


@pytest.mark.parametrize(
    ("text", "truth", "answer", "passed"),
    [
        (" it is 15!", "15", "15", True),
        (" I do not know", "0", None, False),
        (" that is 4.5", "5", "4.5", False),
        (" that is 15.0", "15", "15.0", True),
        (" 5-20 is -15.", "-15", "-15", True),
        (" that makes 20-5", "5", "5", True),
        (" about 1,234 in all", "1234", "1234", True),
        (" 7th of 15", "15", "15", True),
        (" the 15th", "15", None, False),
        (" it is Tuesday.", "Tuesday", "tuesday", True),
        (" on 2023-04-06.", "2023-04-06", "2023-04-06", True),
        (" on 2023-04-06", "2023-04-07", "2023-04-06", False),
    ],
)
def test_strict_reads_the_last_number_or_words(text: str, truth: str, answer: str, passed: bool) -> None:
    assert strict(sample(text, truth)) == (answer, passed)


def test_strict_reads_only_what_follows_the_last_call() -> None:
    text = " é 5 * 3 is [MATH(5 * 3) -> 15]"
    assert strict(sample(text, arguments="5 * 3")) == (None, False)
    assert strict(sample(text + " 15 it is", arguments="5 * 3")) == ("15", True)


@pytest.mark.parametrize(
    ("outcome", "called", "reply"),
    [
        ("right_by_call", "*", sample(" [MATH(5 * 3) -> 15] 15.", arguments="5 * 3")),
        ("right_by_call", "*", sample(" [MATH(5*3) -> 15] 15.", arguments="5*3")),
        ("right_without_call", None, sample(" 15.")),
        ("right_without_call", "+", sample(" [MATH(5 + 3) -> 8] 15.", arguments="5 + 3", result="8")),
        ("right_call_wrong_answer", "*", sample(" [MATH(5 * 3) -> 15] 16.", arguments="5 * 3")),
        ("right_call_wrong_answer", "*", sample(" [MATH(5 * 3) -> 15]", finish="tokens", arguments="5 * 3")),
        ("wrong_operator", "+", sample(" [MATH(5 + 3) -> 8] 8.", arguments="5 + 3", result="8")),
        ("wrong_operator", "SEARCH", sample(" [SEARCH(5 * 3)] 8.", name="SEARCH", arguments="5 * 3", status="error")),
        ("wrong_operands", "*", sample(" [MATH(5 * 4) -> 20] 20.", arguments="5 * 4", result="20")),
        ("wrong_operands", "MATH", sample(" [MATH(5) -> 5] 5.", arguments="5", result="5")),
        ("malformed_call", None, sample(" 5 * 3 is [MATH 5 * 3].")),
        ("unknown_api", "MASH", sample(" [MASH(5 * 3)] 8.", name="MASH", arguments="5 * 3", status="unknown")),
        ("tool_error", "MATH", sample(" [MATH(5 x 3)] 8.", arguments="5 x 3", status="error", result="no")),
        ("no_call", None, sample(" I like turtles.")),
        ("cut_by_budget", None, sample(" 5 * 3 is [MATH(5 *", finish="tokens")),
        ("cut_by_budget", "+", sample(" [MATH(5 + 3) -> 8] [MATH(", finish="tokens", arguments="5 + 3", result="8")),
    ],
)
def test_each_outcome_class(outcome: str, called: str | None, reply: Any) -> None:
    judge(reply, SUITE.skills)
    assert (reply["outcome"], reply.get("called")) == (outcome, called)


@given(
    st.text(alphabet=" 15[]()MATHSx*+->\n", max_size=40),
    st.sampled_from(["stop", "eos", "tokens", "calls", "context", "time", "tool"]),
    st.sampled_from([None, "ok", "error", "timeout", "refused", "unknown"]),
    st.text(alphabet="0123456789*+ xM(", max_size=8),
    st.sampled_from(["15", "8", "none", ""]),
)
def test_classes_cover_everything(text: str, finish: str, status: str | None, arguments: str, result: str) -> None:
    reply = sample(text, finish=finish)
    if status is not None:
        call = {"name": "MATH", "arguments": arguments, "status": status, "result": result}
        reply["calls"] = [call | {"start": 0, "end": len(text) // 2}]
    judge(reply, SUITE.skills)
    assert reply["outcome"] in OUTCOMES
    assert reply["scores"]["strict"] == reply["outcome"].startswith("right_") or reply["outcome"] == (
        "right_call_wrong_answer"
    )
    assert reply["scores"]["call"] == any(call["status"] == "ok" and call["result"] == "15" for call in reply["calls"])


def test_one_scorer_leaves_the_others_alone() -> None:
    reply = sample(" 15.") | {"scores": {"strict": False, "house": True}}
    judge(reply, SUITE.skills, ("paper",))
    assert reply["scores"] == {"strict": False, "house": True, "paper": True}
    assert set(scoring.SCORERS) == {"paper", "strict", "call"}


@pytest.mark.parametrize(
    ("arguments", "differs"),
    [
        ("5 * 3", False),
        ("~(5 ^ 3) // -2", False),
        ("5 / 0", False),
        ("5 x 3", False),
        ("9**9**9", True),
        ("4.5 + 1.1", True),
        ("max(1, 2)", True),
        ("'a' * 3", True),
        ("True + 1", True),
        ("1 < 2", True),
        ("(" * 300 + "1" + ")" * 300, True),
        ("1+" * 400 + "1", True),
    ],
)
def test_arguments_on_which_eval_might_differ_are_known(arguments: str, differs: bool) -> None:
    result = SUITE.tools["MATH"].run(arguments, ())
    assert unlike_eval(arguments, result.status, result.text) is differs
    if not differs:
        try:
            expected = str(eval(arguments))
        except Exception:
            expected = None
        assert expected == (result.text if result.ok else None)
