"""Runs the commands of a documentation page in order and checks that they print what the page shows.

A fence whose info string ends in a file name is that file. `console` fences hold commands, each followed by what it
prints (standard output, then standard error). A page's server runs at a free port in place of 8000.
"""

from __future__ import annotations

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

    def stop(self) -> None:
        """End all servers."""
        for server in self.servers:
            server.should_exit = True


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """(command, expected output) of a console fence."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_page(page: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Write the page's files into `folder`, run its commands there, compare; how many there were."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = page.read_text(encoding="utf-8").replace("--port 8000", f"--port {port}")
    text = text.replace("http://127.0.0.1:8000/", f"http://127.0.0.1:{port}/")
    terminal, count = Terminal(capsys, monkeypatch), 0
    try:
        for language, file, body in FENCE.findall(text):
            if file:
                (folder / file).write_text(body, encoding="utf-8")
            for command, shown in sessions(body) if language == "console" else ():
                assert terminal.run(command) == shown, command
                count += 1
    finally:
        terminal.stop()
    return count
