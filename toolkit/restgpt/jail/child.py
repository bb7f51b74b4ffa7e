"""The program that the sandbox starts: reads code and data, locks itself down, checks the code and runs it.

Started as `python -I -S -X utf8 child.py` with an empty environment in an empty folder. Protocol: one JSON object on
standard input; the first line of standard error says which protections hold, what follows is the reason or traceback;
standard output is the code's own; the exit code is the status. The code is Python, or a JMESPath query when the
request names the folder of that library. Knows nothing of the package around it.
"""

from __future__ import annotations

import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is slow to import)

import ast
import builtins
import importlib
import json
from contextlib import suppress
from types import FunctionType, ModuleType, SimpleNamespace, TracebackType
from typing import Any

OK, ERROR, REFUSED, MEMORY = 0, 10, 11, 12
_LONGEST_REASON = 4000
_FRAMES = 6
_INTERNAL = ("_strptime", "time")
_LATE = {"datetime": "_strptime", "collections": "heapq"}  # what these modules import only when first used
_BUILTINS = """
    abs all any ascii bin bool bytes chr dict divmod enumerate filter float format frozenset hash hex int isinstance
    issubclass iter len list map max min next oct ord pow print range repr reversed round set slice sorted str sum
    tuple zip Exception ArithmeticError AssertionError AttributeError IndexError KeyError LookupError
    OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError UnicodeDecodeError
    UnicodeEncodeError NameError RecursionError ImportError
"""


def main() -> int:
    """Run one request; returns the exit code."""
    allow: Any = importlib.import_module("allow")
    kernel: Any = importlib.import_module("kernel")
    request = json.loads(sys.stdin.buffer.read())
    code = request["code"]
    modules = _needed_modules(code, allow.MODULES)
    search = _import_jmespath(request["jmespath"]) if request["jmespath"] else None
    sys.path.clear()
    sys.stdin.close()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    protections = kernel.lock_down(request["memory"], request["cpu_seconds"])
    _tell(json.dumps(protections) + "\n")
    if search is not None:
        return _query(search, code, request["data"])
    try:
        tree = allow.check_code(code) if request["check"] else ast.parse(code, "<code>")
    except allow.Refused as error:
        _tell(str(error))
        return REFUSED
    except SyntaxError as error:
        _tell(f"SyntaxError: {error.msg} (line {error.lineno}): {(error.text or '').strip()[:200]}")
        return ERROR
    own_builtins = _safe_builtins(modules) if request["check"] else builtins.__dict__
    return _run(tree, {"__builtins__": own_builtins, "__name__": "__main__", "data": request["data"]}, code)


def _needed_modules(code: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Import what the code may need while files can still be read; what is not mentioned is not imported."""
    found: dict[str, Any] = {}
    for name in allowed:
        if name in code:
            found[name] = importlib.import_module(name)
    late = [need for name, need in _LATE.items() if name in found]
    for name in [*late, *(() if code.isascii() else ("unicodedata",))]:
        importlib.import_module(name)
    return found


def _import_jmespath(folder: str) -> Any:
    """The `search` of the library in `folder`, which no isolated interpreter would find by itself."""
    sys.path.append(folder)
    return importlib.import_module("jmespath").search


def _query(search: Any, query: str, data: Any) -> int:
    """Print what a JMESPath query finds, as JSON. Short queries can build results without end; the limits hold."""
    try:
        print(json.dumps(search(query, data), ensure_ascii=False), flush=True)
        return OK
    except MemoryError:
        return MEMORY
    except BaseException as error:
        _tell(f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
        return ERROR


def _safe_builtins(modules: dict[str, Any]) -> dict[str, Any]:
    """The builtins that model code sees. Imports yield the public names of a module, never the module."""
    faces: dict[str, Any] = {name: _face(module) for name, module in modules.items()}
    for name in _INTERNAL:  # asked for by the C code of datetime; model code cannot spell these imports
        faces[name] = sys.modules.get(name)

    def import_module(name: str, *_: Any) -> Any:
        if faces.get(name) is None:
            raise ImportError(f"the module {name!r} is not available")
        return faces[name]

    def type_of(value: Any) -> Any:
        if isinstance(value, (type, FunctionType)):
            raise TypeError("type() of a class or function is not available")  # it would make new ones
        return type(value)

    safe: dict[str, Any] = {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return {**safe, "type": type_of, "__import__": import_module}


def _face(module: ModuleType) -> SimpleNamespace:
    """A module's public functions, classes and constants without the modules it happens to hold."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    return SimpleNamespace(**{name: value for name, value in values.items() if not isinstance(value, ModuleType)})


def _run(tree: Any, namespace: dict[str, Any], code: str) -> int:
    """Execute in one namespace, so that functions and comprehensions see each other."""
    try:
        exec(compile(tree, "<code>", "exec"), namespace)
        sys.stdout.flush()
        return OK
    except MemoryError:
        return MEMORY
    except SystemExit:
        _tell("the code called exit")
        return ERROR
    except BaseException as error:
        _tell(_explain(error, code))
        return ERROR


def _explain(error: BaseException, code: str) -> str:
    """A short traceback: the lines of the model's own code, then the error."""
    lines = code.split("\n")
    shown: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<code>":
            text = lines[trace.tb_lineno - 1].strip() if trace.tb_lineno <= len(lines) else ""
            shown.append(f"line {trace.tb_lineno}: {text[:200]}")
        trace = trace.tb_next
    try:
        reason = f"{type(error).__name__}: {error}"
    except Exception:
        reason = type(error).__name__
    return "\n".join([*shown[-_FRAMES:], reason[:_LONGEST_REASON]])


def _tell(text: str) -> None:
    os.write(2, text.encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    status = main()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(status)
