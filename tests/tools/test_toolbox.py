"""Names, patterns, history and failures: whatever happens, the toolbox returns an Outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.errors import UserError
from toolkit.tools.outcome import Outcome, Turn
from toolkit.tools.toolbox import MAX_ARGUMENT, Toolbox, compile_pattern


@dataclass
class Echo:
    name: str = "ECHO"
    inline: bool = True
    error: Exception | None = None
    seen: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)

    def run(self, arguments: str, history: Sequence[Turn]) -> Outcome:
        self.seen.append((arguments, tuple(history)))
        if self.error:
            raise self.error
        return Outcome("ok", arguments)


TURNS = [Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c")]


def test_ok_carries_the_measured_time_and_no_history_by_default() -> None:
    tool = Echo()
    outcome = Toolbox({"ECHO": tool}).run("ECHO", "x", TURNS)
    assert (outcome.status, outcome.text) == ("ok", "x")
    assert outcome.seconds is not None and outcome.seconds >= 0
    assert tool.seen == [("x", ())]


@pytest.mark.parametrize(("turns", "seen"), [(1, TURNS[2:]), (2, TURNS[1:]), (9, TURNS)])
def test_an_api_gets_the_last_turns_it_asked_for(turns: int, seen: list[Turn]) -> None:
    tool = Echo()
    Toolbox({"ECHO": tool}, turns={"ECHO": turns}).run("ECHO", "x", TURNS)
    assert tool.seen == [("x", tuple(seen))]


def test_unknown_name() -> None:
    toolbox = Toolbox({"ECHO": Echo(inline=False)})
    assert toolbox.run("NOPE\n", "x") == Outcome("unknown", "no API is named NOPE")
    assert toolbox.inline("NOPE") and not toolbox.inline("ECHO")
    assert toolbox.names == ("ECHO",)


@pytest.mark.parametrize(
    ("pattern", "arguments", "status"),
    [
        (r"\d+", "12", "ok"),
        (r"\d+", "12 ", "refused"),
        (r"\d+", "12\n", "refused"),
        ("", "", "ok"),
        ("", "x", "refused"),
        (r"(a|aa)+b", "a" * 4000, "refused"),
        (r"(?:a?){300}a{300}b", "a" * 900, "refused"),
    ],
)
def test_the_whole_argument_must_match_in_time(pattern: str, arguments: str, status: str) -> None:
    tool = Echo()
    outcome = Toolbox({"ECHO": tool}, patterns={"ECHO": pattern}).run("ECHO", arguments)
    assert outcome.status == status
    assert len(tool.seen) == (status == "ok")


def test_a_long_argument_is_refused() -> None:
    assert Toolbox({"ECHO": Echo()}).run("ECHO", "x" * (MAX_ARGUMENT + 1)).status == "refused"


@pytest.mark.parametrize("error", [ValueError("two\nlines"), RecursionError("deep"), MemoryError(), TimeoutError("t")])
def test_an_exception_is_an_error_outcome(error: Exception) -> None:
    outcome = Toolbox({"ECHO": Echo(error=error)}).run("ECHO", "x")
    assert outcome.status == "error"
    assert type(error).__name__ in outcome.text and "\n" not in outcome.text


def test_a_tool_that_returns_no_outcome_is_an_error() -> None:
    class Broken(Echo):
        def run(self, arguments: str, history: Sequence[Turn]) -> Outcome:
            return None  # type: ignore[return-value]

    assert Toolbox({"ECHO": Broken()}).run("ECHO", "x").status == "error"


@pytest.mark.parametrize(
    "pattern", ["(", "*", "a" * 1001, "(?:a{60000}){600}", "(?:(?:a{99}){99}){99}", "(?P<a>x)(?P=b)"]
)
def test_a_bad_pattern_is_the_users_mistake(pattern: str) -> None:
    with pytest.raises(UserError, match="pattern of MATH"):
        compile_pattern(pattern, "MATH")


@given(name=st.text(max_size=8), arguments=st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_never_raises(name: str, arguments: str) -> None:
    toolbox = Toolbox({"ECHO": Echo()}, patterns={"ECHO": r"[a-z]*"})
    assert toolbox.run(name, arguments).status in {"unknown", "refused", "ok"}
    assert toolbox.run("ECHO", arguments).status in {"refused", "ok"}
