"""Runs Python, or a JMESPath query, that a model wrote, in a process that can do nothing but compute and print.

Covered, in two layers. First an allow-list over the syntax tree (`jail.allow`): no classes, no underscore names, no
frame attributes, no imports but json re math datetime collections itertools statistics, no open/exec/eval/getattr, no
`str.format` that looks inside. Then the process (`jail.kernel`), whatever the first layer misses: `python -I -S`, empty
environment, empty temporary folder, limits on processor time, memory, files and processes, a wall clock that kills the
process group, capped output, and, where the kernel allows, a user namespace without network, an empty root folder,
Landlock with no file allowed, and a seccomp filter without open, socket, clone, execve or kill. `protections()` says
which of these hold on this machine; the parent never executes or even parses the code.

Not covered: bugs in the kernel or in the C code of the interpreter together with a hole in the filter; timing side
channels; a processor core for up to the time limit and memory up to its limit, for each call. Outside Linux only the
allow-list, the limits, the clock and the empty environment hold: do not run hostile models there.
"""

from __future__ import annotations

import functools
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import jmespath

from toolkit.restgpt.jail.child import ERROR, MEMORY, OK, REFUSED

SandboxStatus = Literal["ok", "error", "refused", "timeout", "memory", "output", "killed"]

_CHILD = Path(__file__).parent / "jail" / "child.py"
_STATUS: dict[int, SandboxStatus] = {OK: "ok", ERROR: "error", REFUSED: "refused", MEMORY: "memory"}
_CHUNK = 2**16
_ERROR_BYTES = 2**15


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds of one run. `seconds` is wall time, processor time is at most that, rounded up; `memory` is in bytes."""

    seconds: float = 5.0
    memory: int = 512 * 2**20
    output_bytes: int = 2**16


@dataclass(frozen=True)
class SandboxResult:
    """What came of a run.

    `stdout` is what the code printed (cut to the limit when `status` is "output"). `error` is the reason or a short
    traceback, worded for the model; "" when `status` is "ok". `protections` are those that held in this very run.
    """

    status: SandboxStatus
    stdout: str
    error: str
    seconds: float
    protections: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True when the code ran to its end (it may have printed nothing)."""
        return self.status == "ok"


def run_python(code: str, data: object, limits: SandboxLimits | None = None) -> SandboxResult:
    """Run `code` with the JSON value `data` as its variable `data`. Never raises for the code."""
    return run_isolated(code, data, limits or SandboxLimits(), check=True)


def run_jmespath(query: str, data: object, limits: SandboxLimits | None = None) -> SandboxResult:
    """Run a JMESPath query over the JSON value `data`; `stdout` is what it finds, as JSON. Never raises for the query.

    It can do nothing but compute, but `[@,@][]|[@,@][]|...` doubles its result with every step.
    """
    library = str(Path(jmespath.__file__).parents[1])
    return run_isolated(query, data, limits or SandboxLimits(), check=True, library=library)


@functools.lru_cache(maxsize=1)
def protections() -> tuple[str, ...]:
    """What the process layer has on this machine, found out by starting an empty program once."""
    return run_python("pass", None).protections


def run_isolated(
    code: str, data: object, limits: SandboxLimits, check: bool, library: str | None = None
) -> SandboxResult:
    """The process layer; `check` False leaves the allow-list out, which only the tests of this layer should do.

    `library` is the folder of the JMESPath library when `code` is such a query.
    """
    request = {
        "code": code,
        "data": data,
        "memory": limits.memory,
        "check": check,
        "jmespath": library,
        "cpu_seconds": int(limits.seconds) + 1,
    }
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sandbox-") as folder, tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(request).encode("utf-8"))
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", str(_CHILD)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={},
            start_new_session=True,
        )
        try:
            output, errors, cut = _collect(process, started + limits.seconds, limits.output_bytes)
        finally:
            _kill(process)
        code_of_exit = process.wait()
    seconds = time.monotonic() - started
    return _result(output, errors, cut, code_of_exit, seconds, limits)


def _collect(
    process: subprocess.Popen[bytes], deadline: float, most: int
) -> tuple[bytes, bytes, Literal["", "timeout", "output"]]:
    """Read both pipes until the process ends, the deadline passes or it has printed too much."""
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("the child has no pipes")
    received: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    bounds = {process.stdout: most, process.stderr: _ERROR_BYTES}
    cut: Literal["", "timeout", "output"] = ""
    with selectors.DefaultSelector() as selector:
        for pipe in received:
            selector.register(pipe, selectors.EVENT_READ, pipe)
        while selector.get_map() and not cut:
            left = deadline - time.monotonic()
            if left <= 0:
                cut = "timeout"
            for key, _ in selector.select(max(left, 0)):
                pipe = key.data
                chunk = os.read(pipe.fileno(), _CHUNK)
                if not chunk:
                    selector.unregister(pipe)
                received[pipe] += chunk
                if len(received[pipe]) > bounds[pipe]:
                    cut = "output"
    output, errors = received.values()
    return bytes(output[:most]), bytes(errors[:_ERROR_BYTES]), cut


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group, whether or not its leader still lives."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _result(
    output: bytes, errors: bytes, cut: str, exit_code: int, seconds: float, limits: SandboxLimits
) -> SandboxResult:
    first, _, reason = errors.decode("utf-8", "replace").partition("\n")
    active: tuple[str, ...] = ()
    with suppress(ValueError, TypeError):
        active = tuple(str(each) for each in json.loads(first))
    status: SandboxStatus = _STATUS.get(exit_code, "killed")
    if cut == "timeout" or exit_code == -signal.SIGXCPU or (exit_code == -signal.SIGKILL and seconds >= limits.seconds):
        status, reason = "timeout", f"the code ran longer than {limits.seconds:g} s"
    elif cut == "output":
        status, reason = "output", f"the code printed more than {limits.output_bytes:,} bytes"
    elif status == "memory":
        reason = f"the code needed more than {limits.memory // 2**20} MiB of memory"
    elif status == "killed":
        reason = f"the interpreter ended abnormally (exit code {exit_code})"
    text = output.decode("utf-8", "replace")
    return SandboxResult(status, text, reason.strip(), round(seconds, 6), active)
