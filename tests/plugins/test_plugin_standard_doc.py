"""docs/plugin_standard.md: its files are written, its commands run in order, and their output is as shown.

A fence whose info string ends in a file name is that file. `console` fences hold commands, each followed by what it
prints (standard output, then standard error). The server of the page runs at a free port in place of 8000.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from experiments.cli import outcome
from toolkit.plugins.manifest import MAX_HISTORY, Api, Manifest, schema_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin_standard.md"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Terminal:
    """Runs the page's commands; `serve` starts a server on a thread and returns."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.servers: list[uvicorn.Server] = []
        monkeypatch.setattr(uvicorn, "run", self.start)

    def start(self, app: Any, host: str, port: int) -> None:
        server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        self.servers.append(server)

    def run(self, command: str) -> str:
        """What a command prints."""
        words = shlex.split(command)
        if words[0] == "toolkit":
            outcome(words[1:])
            printed = self.capsys.readouterr()
            return printed.out + printed.err
        if words[0] == "curl":
            with urllib.request.urlopen(words[2]) as answer:
                Path(words[4]).write_bytes(answer.read())
            return ""
        assert words[0] == "python"
        return subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal(capsys, monkeypatch)
    yield terminal
    for server in terminal.servers:
        server.should_exit = True


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """(command, expected output) of a console fence."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def test_commands_print_what_the_page_says(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page = PAGE.read_text(encoding="utf-8").replace("--port 8000", f"--port {port}")
    page = page.replace("http://127.0.0.1:8000/", f"http://127.0.0.1:{port}/")
    count = 0
    for language, file, body in FENCE.findall(page):
        if file:
            Path(file).write_text(body, encoding="utf-8")
        for command, shown in sessions(body) if language == "console" else ():
            assert terminal.run(command) == shown, command
            count += 1
    assert count >= 14


def test_the_page_names_every_field_and_the_schema_is_valid_json() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for field in [*Manifest.model_fields, *Api.model_fields]:
        assert f"| `{field}` |" in page
    assert f"0 to {MAX_HISTORY}" in page
    assert set(json.loads(schema_text())["properties"]) == set(Manifest.model_fields)
