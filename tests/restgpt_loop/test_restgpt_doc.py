"""docs/restgpt.md: its commands run in order against the library service and print what the page shows."""

from __future__ import annotations

import io
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import uvicorn

from experiments.cli import outcome
from toolkit.restgpt.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "restgpt.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATED = "http://127.0.0.1:8765"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The service's address; a fresh library."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "library_service"))
    service = __import__("service")
    server = uvicorn.Server(uvicorn.Config(service.create_app(), host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    sys.modules.pop("service", None)


def test_the_commands_print_what_the_page_shows(library, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(ROOT)
    commands = 0
    for language, text in FENCE.findall(PAGE):
        if language != "console":
            continue
        for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, shown = block.partition("\n")
            words = shlex.split(line)
            if words[0] == "export":
                monkeypatch.setenv(*words[1].split("="))
                continue
            words = [str(tmp_path / word) if word == "out.html" else word for word in words]
            outcome([*words[1:], "--server", library])
            printed = capsys.readouterr()
            sandbox, _, progress = printed.err.partition("\n")
            assert sandbox.startswith("sandbox for the model's programs: ")  # what holds depends on the machine
            assert (progress + printed.out).replace(library, STATED) == shown
            commands += 1
    assert commands == 5 and (tmp_path / "out.html").stat().st_size > 5000


def test_the_python_example(library, monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = [text for language, text in FENCE.findall(PAGE) if language == "python"]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code.replace("    model=", f"    server={library!r},\n    model="), {})
    assert printed.getvalue() == "answered You can borrow The Winter Ferry at the Hill Branch right now. 2\n"


def test_the_page_knows_every_strategy_and_limit():
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE, flags=re.MULTILINE)
    assert set(STRATEGIES) <= set(rows)
    assert {"sub-tasks", "continues", "calls", "tokens", "seconds"} <= set(rows)
