"""The pages for plugin authors and chatbot developers, and the examples: every command and script runs as shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doc_runner import run_page
from stream_server import Reply, model_server, streamed

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "commands"), [("first_plugin.md", 6), ("chatbots.md", 2)])
def test_pages_print_what_they_say(
    page: str, commands: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_page(ROOT / "docs" / page, tmp_path, capsys, monkeypatch) == commands


def example(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


@pytest.mark.slow
def test_ask_local() -> None:
    shown = example("ask_local.py")
    assert shown.startswith("12 * 34 is 408.\n  MATH(12 * 34) ok: 408\n") and "tool  ' -> 408]'" in shown


@pytest.mark.slow
def test_write_a_tool() -> None:
    def answer(body: dict[str, str]) -> Reply:
        prompt = body["prompt"]
        if prompt.endswith("<AI>"):
            return streamed(" It costs [PRICE(milk)" if "milk" in prompt else " It costs [PRICE(cake)")
        return streamed(" done.\n")

    with model_server(answer) as seen:
        shown = example("write_a_tool.py", f"completions:{seen.url}#m")
    assert "[PRICE(cake) -> 5 euros]" in shown and "[PRICE(milk) -> error: we have no milk]" in shown


@pytest.mark.slow
def test_serve_and_http_plugin() -> None:
    assert "[AGE(cat 5) ok: 30]" in example("serve_plugin.py")
    shown = example("http_plugin.py")
    assert "MATH(12 * 34) ok: 408" in shown and "MATH(1 / 0) error: HTTP 404: division by zero" in shown


@pytest.mark.slow
def test_mcp_tools() -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    assert example("mcp_tools.py").endswith("408\n")
