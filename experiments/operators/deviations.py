"""How our runs differ from the published protocol, said in every report, and the arguments on which they might (F7).

Knows the protocol's faults by number; knows nothing of models or files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from experiments.operators.config import Variant

MAX_PARSED = 500  # characters; longer arguments are noted without a look
PAPER = (
    "paper: the generated result is intercepted, not dropped afterwards (F5); same visible text.",
    "paper: safe arithmetic instead of eval (F7); samples name the arguments where it could matter (`unlike_eval`).",
    "paper: at most 16 calls in a reply (F8); the original had no bound.",
    "paper: items, shuffles and sampling are seeded (F9); same distributions.",
    "paper: temperature, top-k and top-p are stated by us (F12); the original left them to its library's defaults.",
)
STRICT = ("strict: faults F1 to F12 are repaired; expect differences from the published tables, not a reproduction.",)
FIXED_DATE = "DATE answers the date of its own example on every day; the original read the clock."


def deviations(variants: Iterable[Variant], suite: str) -> list[str]:
    """The deviations that hold for a run, in order; none for suites that were never published."""
    if suite != "operators":
        return []
    protocols = {variant.protocol for variant in variants}
    return [*(PAPER if "paper" in protocols else ()), *(STRICT if "strict" in protocols else ()), FIXED_DATE]


def unlike_eval(arguments: str, status: str, result: str) -> bool:
    """Whether Python's eval of the argument might yield another text than our arithmetic did.

    Equal are: plain expressions over whole numbers that we evaluated, divisions by zero, and what is no expression.
    """
    if len(arguments) > MAX_PARSED:
        return True
    try:
        tree = ast.parse(arguments.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    except (MemoryError, RecursionError):
        return True
    kinds = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    plain = all(isinstance(node, kinds) or _is_whole(node) for node in ast.walk(tree))
    return not plain or (status != "ok" and "division by zero" not in result)


def _is_whole(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
