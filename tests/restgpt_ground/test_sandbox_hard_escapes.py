"""Escape attempts of a second look at the sandbox: metaclasses, the standard library's own tricks, raw system calls.

Those that get past the front gate must fail or be contained; raw system calls must be refused one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from toolkit.restgpt.sandbox import SandboxLimits, protections, run_isolated, run_jmespath, run_python

SHORT = SandboxLimits(seconds=0.5, memory=256 * 2**20, output_bytes=4096)
PATIENT = SandboxLimits(seconds=20, memory=256 * 2**20, output_bytes=4096)

WRITTEN = {
    "class by the type of a type": ("type(type(1))('C', (dict,), {'__missing__': lambda s, k: k})\nprint('ESCAPED')",
                                    {"error"}),
    "class by an enumeration's metaclass": ("import re\ntype(re.RegexFlag)('C', (), {})\nprint('ESCAPED')", {"error"}),
    "class by an abstract metaclass": ("import collections\ntype(collections.UserDict)('C', (), {})\nprint('ESCAPED')",
                                       {"error"}),
    "function from parts": ("type(lambda: 0)(1, {})\nprint('ESCAPED')", {"error"}),
    "map over type": ("list(map(type, [int]))[0]('C', (), {})\nprint('ESCAPED')", {"error"}),
    "named tuple with code as name": ("from collections import namedtuple as n\nn('A(): pass\\nimport os', 'x')",
                                      {"error"}),
    "named tuple with code as field": ("from collections import namedtuple as n\nn('A', ['x=[print(1)]'])", {"error"}),
    "format in adjacent literals": ("print(('{0._' '_class_' '_}').format(data))", {"refused"}),
    "format behind a walrus": ("print((t := '{0.real}').format(1))", {"refused"}),
    "format of an f-string": ("print(f'{{0.real}}'.format(1))", {"refused"}),
    "format of a user string": ("import collections\ncollections.UserString('{0.real}').format(1)", {"refused"}),
    "object of an attribute error": ("import json\ntry:\n    json.load(json)\nexcept AttributeError as e:\n"
                                     "    e.obj.decoder", {"error"}),
    "decoder class of our own": ("import json\njson.loads('1', cls=lambda **k: print(k) or k['nope'])", {"error"}),
    "patched library": ("import json\njson.JSONEncoder.encode = lambda s, o: 'mine'\nprint(json.dumps([]))", {"ok"}),
    "exception group": ("try:\n    1/0\nexcept* Exception:\n    pass", {"refused"}),
    "generator that will not close": ("def g():\n    while True:\n        try:\n            yield 1\n"
                                      "        except:\n            pass\nx = g()\nnext(x)\nx.close()", {"error"}),
    "error that cannot be shown": ("a = []\nfor _ in range(10**5):\n    a = [a]\nraise ValueError(a)", {"error"}),
    "argument bomb": ("import itertools\nprint(*itertools.repeat('x'))", {"memory"}),
    "width by a variable": ("print(f'{1:{10 ** 10}}')", {"error", "memory"}),
    "percent bomb": ("'%*d' % (10 ** 9, 1)", {"memory", "error"}),
    "end bomb": ("print(1, end='x' * 10 ** 7)", {"output"}),
    "sample bomb": ("from statistics import NormalDist as n\nn().samples(10 ** 9)", {"timeout", "memory"}),
    "date format bomb": ("from datetime import datetime as d\nd.strptime(' ' * 400 + 'x', ' *' * 400)", {"error"}),
}  # fmt: skip
SLOW = {"argument bomb", "sample bomb", "error that cannot be shown", "percent bomb", "patched library",
        "exception group", "width by a variable", "class by an abstract metaclass", "decoder class of our own",
        "shared doubling", "deep query", "format behind a walrus", "class by an enumeration's metaclass"}  # fmt: skip


def each(names: Iterable[str], slow: set[str]) -> list[Any]:
    """The names as parameters, those of `slow` marked as such."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names]


@pytest.mark.parametrize("name", each(WRITTEN, SLOW))
def test_what_a_model_may_write(name: str) -> None:
    code, allowed = WRITTEN[name]
    result = run_python(code, {"a": 1}, SHORT if "timeout" in allowed else PATIENT)
    assert result.status in allowed and "ESCAPED" not in result.stdout, result


DOUBLED = "[@,@][]" + "|[@,@][]" * 40
QUERIES = {
    "doubling": (DOUBLED, {"timeout", "memory"}),
    "shared doubling": ("[@,@]" + "|[@,@]" * 40, {"timeout", "memory"}),
    "deep query": ("!" * 20_000 + "a", {"error", "killed", "memory"}),
    "unclosed": ("[?a==`" + "[" * 10_000, {"error", "killed"}),
    "unknown function": ("system('id')", {"error"}),
    "python in a literal": ("`__import__('os')`", {"error", "ok"}),
}  # fmt: skip


@pytest.mark.parametrize("name", each(QUERIES, SLOW))
def test_queries_are_contained(name: str) -> None:
    query, allowed = QUERIES[name]
    result = run_jmespath(query, {"a": [1]}, SHORT if "timeout" in allowed else PATIENT)
    assert result.status in allowed, result


def test_queries_find_things() -> None:
    data = {"results": [{"id": 7, "name": "Ä"}]}
    found = run_jmespath("results[?name=='Ä'].{id: id, n: length(@)} | [0].id", data, PATIENT)
    assert (found.status, found.stdout) == ("ok", "7\n")
    assert run_jmespath("nope", {"a": 1}, PATIENT).stdout == "null\n"
    assert "seccomp" not in protections() or "seccomp" in found.protections


# x86-64 numbers; each is tried in one process, all of them must be refused (EPERM), none may end it.
SYSTEM_CALLS = {
    "memfd_create": (319, b"x", 0), "openat2": (437, -100, b"/etc/passwd", bytes(24), 24), "vfork": (58,),
    "open_by_handle_at": (304, 0, bytes(8), 0), "name_to_handle_at": (303, -100, b"/", bytes(16), bytes(4), 0),
    "clone3": (435, bytes(88), 88), "pidfd_open": (434, 1, 0), "pidfd_getfd": (438, 0, 0, 0), "userfaultfd": (323, 1),
    "perf_event_open": (298, bytes(128), 0, -1, -1, 0), "ioctl": (16, 0, 0x5412, b"x"),
    "prctl": (157, 4, 1, 0, 0, 0), "setsid": (112,), "setpgid": (109, 0, 0), "prlimit64": (302, 0, 0, bytes(16), 0),
    "shmget": (29, 0, 4096, 0o1777), "tgkill": (234, 1, 1, 0), "rt_sigqueueinfo": (129, 1, 0, bytes(128)),
    "sendto": (44, 0, b"x", 1, 0, 0, 0), "socketpair": (53, 1, 1, 0, bytes(8)), "mlockall": (151, 3),
    "personality": (135, 0x0040000), "seccomp": (317, 1, 0, 0), "landlock_add_rule": (445, 0, 0, 0, 0),
    "fanotify_init": (300, 0, 0), "inotify_init1": (294, 0), "timer_create": (222, 0, 0, bytes(8)), "alarm": (37, 1),
    "execveat": (322, -100, b"/bin/sh", 0, 0, 0), "kcmp": (312, 1, 1, 0, 0, 0), "modify_ldt": (154, 1, bytes(16), 16),
    "arch_prctl": (158, 0x1002, 0), "sched_setaffinity": (203, 0, 8, bytes(8)), "splice": (275, 0, 0, 1, 0, 1, 0),
}  # fmt: skip


@pytest.fixture
def needs_x86() -> None:
    import platform

    if platform.machine() != "x86_64" or "seccomp" not in protections():
        pytest.skip("system call numbers of x86-64 with seccomp")


@pytest.mark.usefixtures("needs_x86")
def test_system_calls_are_refused_one_by_one() -> None:
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, call in {SYSTEM_CALLS!r}.items():
    ctypes.set_errno(0)
    number, *rest = call
    answer = libc.syscall(number, *[ctypes.c_long(each) if isinstance(each, int) else each for each in rest])
    if answer != -1 or ctypes.get_errno() != 1:
        print('ESCAPED', name, ctypes.get_errno())
print('end')
"""
    result = run_isolated(code, None, PATIENT, check=False)
    assert (result.status, result.stdout) == ("ok", "end\n"), result


@pytest.mark.usefixtures("needs_x86")
def test_machine_code_with_the_32_bit_convention_ends_the_process() -> None:
    """`mov eax, 5 (open); int 0x80; ret`: 32-bit programs number their calls otherwise, which naive filters miss."""
    code = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, 4096, 7, 0x22, -1, 0)
ctypes.memmove(page, bytes.fromhex('b805000000cd80c3'), 8)
print('ready', flush=True)
print('ESCAPED', ctypes.CFUNCTYPE(ctypes.c_int)(page)(), flush=True)
"""
    result = run_isolated(code, None, PATIENT, check=False)
    assert (result.status, result.stdout) == ("killed", "ready\n"), result
