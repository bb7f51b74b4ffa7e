"""The chat command: at a terminal, in a pipe, as JSON; what a person sees and how Ctrl-C is taken."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console
from stream_server import Reply, model_server, science_model, streamed

from experiments.cli import outcome
from toolkit.assistant import Assistant, load_plugins
from toolkit.calls.syntax import ARROW, HERMES
from toolkit.chat.terminal import Painter, Terminal, piped

BOLD, CYAN, GREEN, RESET = "\x1b[1m", "\x1b[36m", "\x1b[32m", "\x1b[0m"


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=True, width=100, highlight=False, color_system="standard"), out


def painted(parts: list[tuple[str, bool]], syntax: Any = ARROW) -> str:
    screen, out = console()
    painter = Painter(screen, syntax)
    for text, by_model in parts:
        painter.show(text, by_model)
    painter.end()
    return out.getvalue()


def test_calls_and_results_have_colours_however_they_arrive() -> None:
    parts = [(" It is", True), (" [MA", True), ("TH(1", True), (" + 2)", True), (" -> 3]", False), (" 3.", True)]
    expected = f"It is {CYAN}[MATH(1 + 2){RESET}{GREEN} -> 3]{RESET} 3."
    assert painted(parts) == expected
    assert painted([(" It is [MATH(1 + 2)", True), *parts[4:]]) == expected


def test_what_is_no_call_is_shown_as_it_is() -> None:
    assert painted([("see [1", True), ("] and [", True), ("2]\nnext [x", True)]) == "see [1] and [2]\nnext [x"
    assert painted([("[" + "x" * 5000, True)]) == "[" + "x" * 5000
    call = '<tool_call>\n{"name": "MATH", "arguments": {"input": "1"}}'
    assert painted([(f"so {call}", True), ("\n</tool_call>1", False)], HERMES).startswith(f"so {CYAN}<tool_call>")


def conversation(url: str, lines: list[str | type[BaseException]]) -> str:
    """What a person sees who types `lines`."""
    screen, out = console()
    left: Iterator[Any] = iter([*lines, EOFError])

    def read() -> str:
        line = next(left)
        if isinstance(line, str):
            return line
        raise line

    Terminal(Assistant(f"completions:{url}#m", load_plugins("science")), ARROW, screen).run(read)
    return out.getvalue()


def test_a_conversation() -> None:
    with model_server(science_model) as seen:
        shown = conversation(
            seen.url, ["What is 12 * 34?", "/plugins", "/history", "/reset", "/what", "", "Who?", "/quit", "no"]
        )
        assert len(seen.requests) == 3 and "12 * 34?" not in seen.bodies[-1]["prompt"]
    assert f"It is {CYAN}[MATH(12 * 34){RESET}{GREEN} -> 408]{RESET} 408, d\u00e9j\u00e0 vu.\n" in shown
    assert "SEARCH" in shown and f"{BOLD}> What is 12 * 34?" in shown
    assert "forgotten" in shown and "no such command" in shown and "I do not know." in shown


def test_the_second_interrupt_in_a_row_leaves_and_errors_do_not() -> None:
    with model_server(lambda body: Reply([b"busy"], 401)) as seen:
        shown = conversation(seen.url, [KeyboardInterrupt, "Who?", KeyboardInterrupt, KeyboardInterrupt, "never"])
    assert shown.count("Ctrl-C again leaves") == 2 and "answered 401" in shown and len(seen.requests) == 1


def test_pipes_get_lines_or_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(science_model) as seen:
        options = ["chat", "--model", f"completions:{seen.url}#m", "--plugin", "science"]
        monkeypatch.setattr(sys, "stdin", io.StringIO("What is 12 * 34?\n\n/reset\nWho?\n/quit\nno\n"))
        assert outcome(options) == 0
        assert capsys.readouterr().out == "It is [MATH(12 * 34) -> 408] 408, d\u00e9j\u00e0 vu.\nI do not know.\n"
        assert outcome([*options, "--ask", "What is 12 * 34?", "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
    assert record["said"] == "It is 408, d\u00e9j\u00e0 vu." and record["finish"] == "stop"
    assert record["calls"] == [{"name": "MATH", "arguments": "12 * 34", "status": "ok", "result": "408"}]
    assert [piece["by"] for piece in record["pieces"]] == ["model", "tool", "model"]


def test_a_failed_answer_is_a_line_and_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    replies = [streamed(" Fine.\n"), Reply([b"no"], 401)]
    with model_server(lambda body: replies.pop()) as seen:
        assistant = Assistant(f"completions:{seen.url}#m", load_plugins("science"))
        assert not piped(assistant, iter(["one", "two"]), as_json=True)
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert "answered 401" in first["error"] and second["said"] == "Fine."
    assert outcome(["chat", "--model", "completions:http://127.0.0.1:9/v1", "--ask", "hi"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "completions:nowhere"], "no server address"),
        (["--plugin", "no-such-plugin"], "neither a manifest file nor a plugin"),
        (["--syntax", "morse"], "no call syntax"),
        (["--mcp", "'"], "command line"),
    ],
)
def test_mistakes_are_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(["chat", "--model", "completions:http://127.0.0.1:9/v1", "--ask", "hi", *options]) == 2
    assert message in capsys.readouterr().err
