"""Locks the current process down with what the kernel offers, each part on its own and reporting whether it holds.

Resource limits, a user namespace without network, an empty root folder, Landlock without a single allowed file, and a
seccomp filter that leaves little more than memory, time and writing to open files. All of it is irreversible. Linux on
x86-64 and arm64; elsewhere only the resource limits. Runs inside the child before any of the model's code.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_CAPSET = {"x86_64": 126, "aarch64": 91}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn writev sched_yield
# mremap madvise getpid exit gettimeofday futex clock_gettime clock_getres exit_group getrandom rseq sigaltstack
# restart_syscall
_SYSTEM_CALLS = {
    "x86_64": (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 20, 24,
               25, 28, 39, 60, 96, 202, 228, 229, 231, 318, 334, 131,
               219),
    "aarch64": (63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 66, 124,
                216, 233, 172, 93, 169, 98, 113, 114, 94, 278, 293, 132,
                128),
}  # fmt: skip
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # SECCOMP_RET_ALLOW, _ERRNO | EPERM, _KILL_PROCESS


def lock_down(memory: int, cpu_seconds: int) -> list[str]:
    """Apply everything that this kernel allows, in the order in which it has to be; returns what is active."""
    active: list[str] = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        machine = os.uname().machine
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        active += _namespaces(libc)
        active += _empty_root(libc, machine)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            active += _landlock(libc)
        active += _limits(memory, cpu_seconds)
        active += _seccomp(libc, machine)
        return active
    return _limits(memory, cpu_seconds)


def _limits(memory: int, cpu_seconds: int) -> list[str]:
    """Memory in bytes, processor time in seconds; no files, no new descriptors, no processes, no core dump."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 3,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        resource.setrlimit(kind, (value, value))
    return ["resource limits"]


def _namespaces(libc: ctypes.CDLL) -> list[str]:
    """No network but a loopback that is down, no shared memory; and no power over anything outside."""
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC) == 0:
        return ["user namespace", "network namespace"]
    return ["network namespace"] if libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC) == 0 else []


def _empty_root(libc: ctypes.CDLL, machine: str) -> list[str]:
    """Make the empty working folder the root, then give every capability up."""
    try:
        os.chroot(".")
        os.chdir("/")
    except OSError:
        return []
    if machine in _CAPSET:
        header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
        libc.syscall(_CAPSET[machine], header, nothing)
    return ["empty root"]


def _landlock(libc: ctypes.CDLL) -> list[str]:
    """Handle every right that this kernel knows (files, TCP, signals out, abstract sockets) and grant none."""
    version = libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return []
    bits = 13 if version == 1 else 14 if version == 2 else 15 if version < 5 else 16
    rights = [(1 << bits) - 1] + ([3] if version >= 4 else []) + ([3] if version >= 6 else [])
    attributes = struct.pack(f"{len(rights)}Q", *rights)
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return []
    held = libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return ["landlock"] if held else []


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _seccomp(libc: ctypes.CDLL, machine: str) -> list[str]:
    """Allow the listed system calls, refuse all others with EPERM, kill on a foreign calling convention."""
    if machine not in _SYSTEM_CALLS or struct.calcsize("P") != 8:
        return []
    calls = _SYSTEM_CALLS[machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    for index, number in enumerate(calls):
        steps.append((_EQUAL, len(calls) - index, 0, number))
    steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    held = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0
    return ["seccomp"] if held else []
