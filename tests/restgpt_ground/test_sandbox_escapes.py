"""Escape attempts against both layers: none succeeds, none hangs, and the parent lives to say so."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolkit.restgpt import jail
from toolkit.restgpt.jail.allow import Refused, check_code
from toolkit.restgpt.sandbox import SandboxLimits, protections, run_isolated, run_python

SECRET = "the-secret-of-the-parent"
SHORT = SandboxLimits(seconds=0.4, memory=256 * 2**20, output_bytes=4096)
PATIENT = SandboxLimits(seconds=20, memory=256 * 2**20, output_bytes=4096)

REFUSED = {
    "import os": "import os\nprint(os.environ)",
    "import in a function": "def f():\n    import subprocess\nf()",
    "from import": "from os import system\nsystem('id')",
    "submodule": "import os.path",
    "submodule of an allowed one": "import collections.abc",
    "json's codecs": "import json\nprint(json.codecs.builtins.open('/etc/passwd').read())",
    "from json import codecs": "from json import codecs\nprint(codecs.open('/etc/passwd').read())",
    "re's enum's sys": "import re\nprint(re.enum.sys.modules)",
    "statistics' sys": "import statistics\nstatistics.sys.exit()",
    "relative import": "from . import allow",
    "star of a private module": "from _io import *",
    "dunder import": "__import__('os').system('id')",
    "builtins by name": "__builtins__['open']('/etc/passwd')",
    "open": "print(open('/etc/passwd').read())",
    "open under another name": "o = open\no('/etc/passwd')",
    "eval": "eval('1')",
    "exec": "exec('import os')",
    "compile": "compile('1', 'x', 'eval')",
    "getattr": "getattr(1, '_' + '_class_' + '_')",
    "setattr": "setattr(data, 'x', 1)",
    "globals": "globals()['x'] = 1",
    "vars": "vars()",
    "breakpoint": "breakpoint()",
    "input": "input()",
    "class walk": "print(().__class__.__base__.__subclasses__())",
    "class walk by lambda": "(lambda: 0).__globals__",
    "class walk by type.mro": "type(1).mro()",
    "format walk": "print('{0.__class__}'.format(data))",
    "format walk through an item": "print('{0[a].x}'.format(data))",
    "format walk in a nested field": "print('{:{1.__class__}}'.format(1, data))",
    "format of a computed text": "t = '{0._' + '_class_' + '_}'\nprint(t.format(data))",
    "format unbound": "print(str.format('{0.__class__}', data))",
    "format_map": "print('{x.__class__}'.format_map({'x': 1}))",
    "f-string walk": "print(f'{data.__class__}')",
    "traceback walk": "try:\n    1/0\nexcept Exception as e:\n    print(e.__traceback__.tb_frame.f_back.f_globals)",
    "traceback frame": "try:\n    1/0\nexcept Exception as e:\n    t = e.with_traceback\n    t.tb_frame",
    "generator frame": "g = (x for x in [1])\nprint(g.gi_frame.f_back.f_builtins)",
    "generator code": "def g():\n    yield\ng().gi_code.co_consts",
    "coroutine": "async def f():\n    pass\nf().cr_frame",
    "class with a finaliser": "class A:\n    def __del__(self):\n        pass\nA()",
    "metaclass": "class M(type):\n    pass",
    "match on an attribute": "match data:\n    case object(__class__=c):\n        print(c)",
    "with": "with data as x:\n    pass",
    "dunder as keyword": "dict(__class__=1)",
    "dunder as argument": "def f(__x__):\n    pass",
    "dunder as exception name": "try:\n    1/0\nexcept Exception as __e__:\n    pass",
    "dunder as alias": "import json as __builtins__",
    "dunder as global": "def f():\n    global __builtins__\n    __builtins__ = 1\nf()",
    "dunder in full width": "print(data.__ｃlass__)",
    "open in mathematical letters": "print(𝑜pen('/etc/passwd'))",
    "single underscore": "import collections\ncollections._sys.exit()",
    "decorator": "@breakpoint\ndef f():\n    pass",
    "default argument": "def f(x=open):\n    return x\nf()('/etc/passwd')",
    "annotation": "x: eval('1') = 2",
    "nested comprehension": "[[y for y in x.__class__.__mro__] for x in [1]]",
    "walrus": "(f := open)('/etc/passwd')",
    "BaseException": "try:\n    raise BaseException\nexcept BaseException:\n    pass",
    "SystemExit": "raise SystemExit(0)",
    "null byte": "print(1)\0import os",
    "too long": "x = 1\n" * 20_000,
}  # fmt: skip

CONTAINED = {
    "endless loop": ("while True:\n    pass", {"timeout"}),
    "endless loop catching everything": ("while True:\n    try:\n        pass\n    except:\n        pass", {"timeout"}),
    "one endless C call": ("10 ** 10 ** 9", {"timeout", "memory"}),
    "endless regular expression": ("import re\nre.match('(a+)+$', 'a' * 64 + 'b')", {"timeout"}),
    "endless iterator": ("import itertools\nsum(itertools.repeat(1))", {"timeout"}),
    "memory by text": ("x = 'a' * 10 ** 10", {"memory"}),
    "memory by list": ("x = [0]\nwhile True:\n    x += x", {"memory", "timeout"}),
    "memory by format": ("f'{1:>999999999999}'", {"memory", "error"}),
    "memory caught again": ("while True:\n    try:\n        'a' * 10 ** 10\n    except:\n        pass", {"timeout"}),
    "huge output": ("print('x' * 10 ** 7)", {"output"}),
    "endless output": ("while True:\n    print('x' * 1000)", {"output"}),
    "huge error": ("raise ValueError('x' * 10 ** 7)", {"error"}),
    "recursion": ("def f():\n    return f()\nf()", {"error"}),
    "deep nesting": ("x = " + "(" * 9000 + ")" * 9000, {"error", "refused", "killed"}),
    "deep unary": ("x = " + "-" * 19_000 + "1", {"error", "refused", "killed", "memory"}),
    "deep attribute": ("x = data" + ".a" * 9000, {"error", "refused", "killed", "memory"}),
    "deep sum": ("x = 1" + "+1" * 9000, {"error", "refused", "killed", "memory", "ok"}),
    "lone surrogate": ("x = '\ud800'", {"error", "refused", "ok"}),
    "digits": ("print(len(str(10 ** 100000)))", {"error"}),
    "json bomb": ("import json\njson.loads('[' * 100000)", {"error"}),
    "unassigned dangerous name": ("def f():\n    object = 1\nobject().x", {"error"}),
    "type with three arguments": ("type('A', (), {})", {"error"}),
    "import by alias of an allowed module": ("import json as j\nj.decoder.scanner.re", {"error"}),
}  # fmt: skip


def assert_nothing_leaked(text: str) -> None:
    assert "root:" not in text and SECRET not in text and "ESCAPED" not in text, text


@pytest.mark.parametrize("name", REFUSED)
def test_the_front_gate_refuses(name: str) -> None:
    with pytest.raises(Refused):
        check_code(REFUSED[name])


@pytest.mark.parametrize("name", ["import os", "json's codecs", "class walk", "dunder in full width", "null byte"])
def test_a_refusal_reaches_the_caller(name: str) -> None:
    result = run_python(REFUSED[name], {"a": 1}, PATIENT)
    assert result.status == "refused" and result.error and result.stdout == "", result


SLOW = {
    "endless loop catching everything", "endless regular expression", "endless iterator", "memory caught again",
    "memory by mapping", "memory by list", "endless output", "stack overflow in C", "deep nesting", "deep attribute",
    "io_uring", "foreign calling convention", "trace the parent", "memory of the parent", "new namespaces",
    "become root", "mount", "kernel keys", "bpf", "duplicate a descriptor", "pipe", "second chroot", "change folder",
    "rename", "remove", "hard link", "read its own program", "list a folder", "posix_spawn", "unix socket by ctypes",
    "signal everything",
}  # fmt: skip


def each(attempts: dict[str, Any]) -> list[Any]:
    """The names of the attempts; a choice of every kind is quick enough to run each time."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in attempts]


@pytest.mark.parametrize("name", each(CONTAINED))
def test_what_may_be_written_is_contained(name: str) -> None:
    code, allowed = CONTAINED[name]
    started = time.monotonic()
    result = run_python(code, {"a": 1}, SHORT if "timeout" in allowed else PATIENT)
    assert result.status in allowed, result
    assert time.monotonic() - started < 60 and len(result.stdout) <= 4096 and len(result.error) < 40_000
    assert result.ok == (result.error == "")


# Against the process alone, the front gate left out: each prints ESCAPED if it gets what it wants.
PROCESS = {
    "read a file": "print('ESCAPED', open('/etc/passwd').read())",
    "read a file by descriptor": "import os\nos.open('/etc/passwd', os.O_RDONLY)\nprint('ESCAPED')",
    "read through /proc": "print('ESCAPED', open('/proc/self/environ').read(), open('/proc/1/environ').read())",
    "read its own program": "import sys\nprint('ESCAPED', open(sys.argv[0]).read())",
    "list a folder": "import os\nprint('ESCAPED', os.listdir('/'))",
    "write a file here": "open('x', 'w').write('x')\nprint('ESCAPED')",
    "write a file elsewhere": "open('FOLDER/escaped', 'w').write('x')\nprint('ESCAPED')",
    "symbolic link": "import os\nos.symlink('/etc/passwd', 'x')\nprint('ESCAPED')",
    "hard link": "import os\nos.link('/etc/passwd', 'x')\nprint('ESCAPED')",
    "remove": "import os\nos.rmdir('FOLDER')\nprint('ESCAPED')",
    "rename": "import os\nos.rename('FOLDER', 'FOLDER-renamed')\nprint('ESCAPED')",
    "change mode": "import os\nos.chmod('FOLDER', 0o700)\nprint('ESCAPED')",
    "change folder": "import os\nos.chdir('..')\nos.chdir('/etc')\nprint('ESCAPED')",
    "second chroot": "import os\nos.mkdir('x')\nos.chroot('x')\nprint('ESCAPED')",
    "fork": "import os\nos.fork()\nprint('ESCAPED')",
    "fork bomb": "import os\nfor _ in range(50):\n    os.fork()\n    print('ESCAPED')",
    "fork by ctypes": "import ctypes\nif ctypes.CDLL(None).fork() >= 0:\n    print('ESCAPED')",
    "thread": "import _thread\n_thread.start_new_thread(print, ('ESCAPED',))\nprint('ESCAPED')",
    "run a program": "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo ESCAPED'])",
    "system": "import os\nif os.system('echo ESCAPED') == 0:\n    print('ESCAPED')",
    "posix_spawn": "import os\nos.posix_spawn('/bin/echo', ['echo', 'ESCAPED'], {})",
    "socket by ctypes": "import ctypes\nif ctypes.CDLL(None).socket(2, 1, 0) >= 0:\n    print('ESCAPED')",
    "unix socket by ctypes": "import ctypes\nif ctypes.CDLL(None).socket(1, 1, 0) >= 0:\n    print('ESCAPED')",
    "io_uring": "import ctypes\nif ctypes.CDLL(None).syscall(425, 8, bytes(120)) >= 0:\n    print('ESCAPED')",
    "foreign calling convention": "import ctypes\nif ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0) >= 0:\n"
                                  "    print('ESCAPED')",
    "signal the parent": "import os\nos.kill(PARENT, 0)\nprint('ESCAPED')",
    "signal everything": "import os\nos.kill(-1, 0)\nprint('ESCAPED')",
    "trace the parent": "import ctypes\nif ctypes.CDLL(None).ptrace(16, PARENT, 0, 0) >= 0:\n    print('ESCAPED')",
    "memory of the parent": "import ctypes\nb = ctypes.create_string_buffer(8)\n"
                            "if ctypes.CDLL(None).syscall(310, PARENT, b, 1, b, 1, 0) >= 0:\n    print('ESCAPED')",
    "raise the limits": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (-1, -1))\nprint('ESCAPED')",
    "new namespaces": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) >= 0:\n    print('ESCAPED')",
    "become root": "import os\nos.setuid(0)\nprint('ESCAPED')",
    "mount": "import ctypes\nif ctypes.CDLL(None).mount(b'none', b'/', b'tmpfs', 0, 0) >= 0:\n    print('ESCAPED')",
    "kernel keys": "import ctypes\nif ctypes.CDLL(None).syscall(250, 0, -3, 1) >= 0:\n    print('ESCAPED')",
    "bpf": "import ctypes\nif ctypes.CDLL(None).syscall(321, 0, bytes(64), 64) >= 0:\n    print('ESCAPED')",
    "duplicate a descriptor": "import os\nos.dup(1)\nprint('ESCAPED')",
    "pipe": "import os\nos.pipe()\nprint('ESCAPED')",
    "import a module from disk": "import http.client\nprint('ESCAPED')",
    "environment": "import os\nprint('ESCAPED' if any('SECRET' in k for k in os.environ) else '')",
    "walk to real builtins": "o = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileIO'][0]\n"
                             "print('ESCAPED', o('/etc/passwd').read())",
}  # fmt: skip

SURVIVED = {
    "signal handlers": ("import signal\nfor s in range(1, 65):\n    try:\n        signal.signal(s, lambda *a: None)\n"
                        "    except Exception:\n        pass\nwhile True:\n    pass", {"timeout"}),
    "exit": ("import sys\nsys.exit(0)", {"error"}),
    "hard exit": ("import os\nos._exit(0)", {"ok"}),
    "abort": ("import os\nos.abort()", {"killed"}),
    "wild pointer": ("import ctypes\nctypes.string_at(1)", {"killed"}),
    "stack overflow in C": ("import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    return f([x])\nf(0)",
                            {"killed", "memory", "error", "timeout"}),
    "memory by mapping": ("import ctypes\nx = [ctypes.create_string_buffer(2**24) for _ in range(1000)]", {"memory"}),
    "closed outputs": ("import os\nos.close(1)\nos.close(2)\nprint('x')", {"error", "killed", "ok"}),
    "noise on the error channel": ("import os\nwhile True:\n    os.write(2, b'x' * 65536)", {"output"}),
    "sleep": ("import time\ntime.sleep(1000)", {"timeout", "error"}),
}  # fmt: skip


@pytest.fixture
def needs_everything() -> None:
    if not {"seccomp", "landlock"} <= set(protections()):
        pytest.skip(f"this kernel only offers {', '.join(protections())}")


@pytest.mark.usefixtures("needs_everything")
@pytest.mark.parametrize("name", each(PROCESS))
def test_the_process_holds_without_the_front_gate(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARENT_SECRET", SECRET)
    code = PROCESS[name].replace("PARENT", str(os.getpid())).replace("FOLDER", str(tmp_path))
    result = run_isolated(code, None, PATIENT, check=False)
    assert result.protections, result
    assert_nothing_leaked(result.stdout)
    assert tmp_path.is_dir() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", each(SURVIVED))
def test_the_parent_survives(name: str) -> None:
    code, allowed = SURVIVED[name]
    result = run_isolated(code, None, SHORT if "timeout" in allowed else PATIENT, check=False)
    assert result.status in allowed, result


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# Each kernel protection by itself, so that one failing does not hide behind the others.
READ = "open('/etc/passwd').read()"
ALONE = {
    "landlock": ("libc.prctl(38, 1, 0, 0, 0)\nactive = kernel._landlock(libc)", READ),
    "empty root": ("libc.unshare(0x10000000)\nactive = kernel._empty_root(libc, os.uname().machine)", READ),
    "seccomp": ("libc.prctl(38, 1, 0, 0, 0)\nactive = kernel._seccomp(libc, os.uname().machine)", READ),
    "network namespace": ("active = kernel._namespaces(libc)", "socket.create_connection(('127.0.0.1', PORT), 2)"),
    "resource limits": ("active = kernel._limits(2**28, 5)", "open('x', 'w').write('x')"),
}


@pytest.mark.parametrize("name", ALONE)
def test_each_protection_holds_alone(name: str, listener: int, tmp_path: Path) -> None:
    if name not in protections():
        pytest.skip(f"this kernel does not offer {name}")
    lock, attempt = ALONE[name]
    folder = str(Path(jail.__file__).parent)
    attempt = attempt.replace("PORT", str(listener))
    code = f"""
import ctypes, os, socket, sys
sys.path.append({folder!r})
import kernel
libc = ctypes.CDLL(None, use_errno=True)
{lock}
assert {name!r} in active, active
try:
    {attempt}
except OSError:
    os.write(1, b"held")
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.stdout == b"held", done


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def remembering(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", remembering)
    for code in ("print(1)", "while True:\n    pass", "x = 'a' * 10 ** 10"):
        run_python(code, None, SHORT)
    assert len(started) == 3 and all(process.returncode is not None for process in started)
    assert list(tmp_path.iterdir()) == []
