"""The front gate of the sandbox: which Python a model may write at all, decided on the syntax tree.

An allow-list of syntax, of modules and of names; underscores and frame attributes are refused wherever they can hide,
`str.format` included. It exists to give a model a clear reason early and to make attacks hard to begin; what contains
an attack is the process around it (`kernel`). Runs inside the child, so that even the parser's own crashes are caught.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter

MODULES = ("json", "re", "math", "datetime", "collections", "itertools", "statistics")
LONGEST_CODE = 20_000

_NODES = """
    Module FunctionDef Lambda Return Assign AugAssign AnnAssign Delete For While If Raise Try Assert Import ImportFrom
    Expr Pass Break Continue Global Nonlocal BoolOp NamedExpr BinOp UnaryOp IfExp Dict Set ListComp SetComp DictComp
    GeneratorExp Yield YieldFrom Compare Call FormattedValue JoinedStr Constant Attribute Subscript Starred Name List
    Tuple Slice comprehension ExceptHandler arguments arg keyword alias Load Store Del And Or Add Sub Mult MatMult Div
    Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
"""
_NAMES = """
    open exec eval compile getattr setattr delattr hasattr globals locals vars dir input help breakpoint memoryview
    exit quit object super callable BaseException SystemExit KeyboardInterrupt GeneratorExit bytearray
"""
_ALLOWED_NODES = tuple(getattr(ast, name) for name in _NODES.split())
_FORBIDDEN_NAMES = frozenset(_NAMES.split())
_FORBIDDEN_ATTRIBUTES = frozenset({"mro", "format_map", "modules", "builtins", "codecs", "sys", "os"})
_FRAME_ATTRIBUTE = re.compile(r"(gi|cr|ag|tb|f|co|func|im)_[a-z]")


class Refused(Exception):
    """The code may not run; the message says why, for the model."""


def check_code(code: str) -> ast.Module:
    """The parsed code. Raises Refused with line and reason, or SyntaxError."""
    if len(code) > LONGEST_CODE:
        raise Refused(f"the code is longer than {LONGEST_CODE} characters")
    if "\0" in code:
        raise Refused("the code holds a null character")
    try:
        tree = ast.parse(code, "<code>")
    except (RecursionError, MemoryError):
        raise Refused("the code is nested too deeply") from None
    except UnicodeError:
        raise Refused("the code holds characters that are not valid text") from None
    own = set(_own_names(tree))
    for node in ast.walk(tree):
        reason = _reason(node, own)
        if reason:
            raise Refused(f"line {getattr(node, 'lineno', '?')}: {reason}")
    return tree


def _own_names(tree: ast.Module) -> Iterator[str]:
    """Names that the code itself binds: a variable may be called `input`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def _reason(node: ast.AST, own: set[str]) -> str | None:
    """Why this node is not allowed, None when it is."""
    if not isinstance(node, _ALLOWED_NODES):
        return f"{type(node).__name__} is not available here"
    for name in _identifiers(node):
        if "__" in name and not (isinstance(node, ast.Name) and name == "__name__"):
            return f"the name {name!r} is not available here"
    if isinstance(node, ast.Name) and node.id in _FORBIDDEN_NAMES and node.id not in own:
        return f"{node.id} is not available here"
    if isinstance(node, ast.Import):
        return next((reason for alias in node.names if (reason := _module_reason(alias.name))), None)
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return "relative imports are not available"
        names = [reason for alias in node.names if (reason := _attribute_reason(alias.name))]
        return _module_reason(node.module or "") or (names[0] if names else None)
    if isinstance(node, ast.Attribute):
        return _attribute_reason(node.attr) or _format_reason(node)
    return None


def _identifiers(node: ast.AST) -> Iterator[str]:
    """Every name that a node spells as text rather than as a child node."""
    for field in ("id", "name", "arg", "attr", "asname", "module"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names


def _module_reason(name: str) -> str | None:
    return None if name in MODULES else f"the module {name!r} is not available (only {', '.join(MODULES)})"


def _attribute_reason(name: str) -> str | None:
    if name.startswith("_") or name in _FORBIDDEN_ATTRIBUTES or _FRAME_ATTRIBUTE.match(name):
        return f"the attribute {name!r} is not available here"
    return None


def _format_reason(node: ast.Attribute) -> str | None:
    if node.attr == "format":
        literal = node.value.value if isinstance(node.value, ast.Constant) else None
        if not isinstance(literal, str) or _reaches_inside(literal):
            return "str.format on a computed text or with attribute fields is not available; use an f-string"
    return None


def _reaches_inside(template: str) -> bool:
    """Whether a format template looks into its arguments (`{0.__class__}`), in a nested field too."""
    try:
        for _, field, spec, _ in Formatter().parse(template):
            if field and ("." in field or "[" in field):
                return True
            if spec and "{" in spec and _reaches_inside(spec):
                return True
    except ValueError:
        return False  # a broken template raises when it runs
    return False
