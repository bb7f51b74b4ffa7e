"""The MATH tool: exact arithmetic on expressions that a model wrote, without `eval` and within fixed bounds.

Operators are + - * / // % ** ^ & | ~ << >> and parentheses, with Python's precedence; `^` is XOR, as in the published
experiment. An expression of plain integers gives exactly the text that Python gives, `/` included. One that holds a
number with a point or an exponent is computed in decimals of 28 digits (0.1 + 0.2 is 0.3, 7.5 // 2 is 3); these have
no bit operators. Text is checked for length, characters and nesting before Python's parser sees it, and each operation
for the size of its result before it runs. This file knows nothing of models or prompts.
"""

from __future__ import annotations

import ast
import decimal
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from toolkit.tools.outcome import Outcome, Turn

MAX_TEXT = 1000  # characters of an expression
MAX_NESTING = 50  # levels of the parsed expression, a run of + - * at one level not counted
MAX_BITS = 4096  # of any integer on the way: about 1233 digits
MAX_EXPONENT = 1000  # of a decimal, in either direction
PLAIN_EXPONENT = 28  # decimals up to this power of ten are written without an exponent

ALLOWED = re.compile(r"[0-9_eE.+\-*/%^&|~<>() \t]*")
DECIMALS = decimal.Context(
    prec=28,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-MAX_EXPONENT,
    Emax=MAX_EXPONENT,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow, decimal.Underflow],
)
Number = int | float | Decimal


class ArithmeticFault(ValueError):
    """The expression is not one we evaluate, or it is over a cap; the text says why in a few words."""


@dataclass(frozen=True)
class Arithmetic:
    """The MATH tool. Pure and fast, so it runs inline."""

    name: str = "MATH"
    inline: bool = True

    def run(self, arguments: str, history: Sequence[Turn] = ()) -> Outcome:
        """The value of the expression, or an error Outcome that says why there is none."""
        try:
            return Outcome("ok", evaluate(arguments))
        except ArithmeticFault as fault:
            return Outcome("error", str(fault))


def evaluate(expression: str) -> str:
    """The value of `expression` as text; ArithmeticFault when it has none or is over a cap."""
    _check_text(expression)
    source = expression.strip()
    try:
        tree = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ArithmeticFault("not an arithmetic expression") from None
    in_decimals = any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(tree))
    try:
        return _written(_Walker(source, in_decimals).value(tree.body, MAX_NESTING))
    except ZeroDivisionError:
        raise ArithmeticFault("division by zero") from None
    except (OverflowError, decimal.Overflow, decimal.Underflow):
        raise ArithmeticFault("a number is too large or too small") from None
    except (decimal.InvalidOperation, TypeError, ValueError) as error:
        raise (
            error if isinstance(error, ArithmeticFault) else ArithmeticFault("not defined for these numbers")
        ) from None


def _check_text(expression: str) -> None:
    """Refuse, in linear time, what the parser should not see."""
    if len(expression) > MAX_TEXT:
        raise ArithmeticFault(f"expression longer than {MAX_TEXT} characters")
    if not ALLOWED.fullmatch(expression):
        raise ArithmeticFault("only numbers, parentheses and + - * / // % ** ^ & | ~ << >> are allowed")
    depth = deepest = 0
    for char in expression:
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
    if deepest > MAX_NESTING:
        raise ArithmeticFault(f"nested deeper than {MAX_NESTING}")


def _written(value: Number) -> str:
    """A value as text: Python's `str` for int and float, the shortest plain form for a decimal."""
    if not isinstance(value, Decimal):
        return str(value)
    short = DECIMALS.add(DECIMALS.normalize(value), Decimal(0))  # adding 0 turns -0 into 0
    short = DECIMALS.normalize(short)
    return format(short, "f") if abs(short.adjusted()) <= PLAIN_EXPONENT else str(short)


class _Walker:
    """Evaluates a parsed expression, in decimals when one of its numbers is a decimal."""

    def __init__(self, source: str, in_decimals: bool) -> None:
        self._source, self._in_decimals = source, in_decimals

    def value(self, node: ast.expr, levels: int) -> Number:
        """The value of a node. A long sum is nested to the left, so the left spine is walked in a loop."""
        if levels == 0:
            raise ArithmeticFault(f"nested deeper than {MAX_NESTING}")
        spine: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            spine.append(node)
            node = node.left
        value = self._leaf(node, levels)
        for parent in reversed(spine):
            value = self._binary(type(parent.op), value, self.value(parent.right, levels - 1))
        return value

    def _leaf(self, node: ast.expr, levels: int) -> Number:
        if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            return _sized(UNARY[type(node.op)](self.value(node.operand, levels - 1)))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return _sized(node.value)
        if isinstance(node, ast.Constant) and type(node.value) is float:
            return DECIMALS.create_decimal(ast.get_source_segment(self._source, node) or "")
        raise ArithmeticFault("not an arithmetic expression")

    def _binary(self, kind: type[ast.operator], left: Number, right: Number) -> Number:
        """One operation, its operands checked before and its result after."""
        both_int = isinstance(left, int) and isinstance(right, int)
        if self._in_decimals and (not both_int or kind is ast.Div):
            if kind not in DECIMAL:
                raise ArithmeticFault("bit operators need integers")
            return DECIMAL[kind](DECIMALS.create_decimal(left), DECIMALS.create_decimal(right))
        if kind not in INTEGER:
            raise ArithmeticFault("not an arithmetic expression")
        return _sized(INTEGER[kind](left, right))


def _sized(value: Number) -> Number:
    """The value, when it is real, finite and within the cap of bits."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ArithmeticFault(f"an integer of more than {MAX_BITS} bits")
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ArithmeticFault("not defined for these numbers")
    return value


def _power(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and (left.bit_length() - 1) * right > MAX_BITS:
        raise ArithmeticFault(f"an integer of more than {MAX_BITS} bits")
    result: Number = left**right  # type: ignore[operator]
    return result


def _shift_left(left: int, right: int) -> int:
    if right > MAX_BITS:
        raise ArithmeticFault(f"a shift by more than {MAX_BITS} bits")
    return left << right


def _floor_divide(left: Decimal, right: Decimal) -> Decimal:
    return DECIMALS.divide(DECIMALS.subtract(left, _modulo(left, right)), right).to_integral_value()


def _modulo(left: Decimal, right: Decimal) -> Decimal:
    """The remainder with the sign of the divisor, as Python's float has it."""
    rest = DECIMALS.remainder(left, right)
    return DECIMALS.add(rest, right) if rest and (rest < 0) != (right < 0) else rest


UNARY: dict[type[ast.unaryop], Callable[..., Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
INTEGER: dict[type[ast.operator], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
}
DECIMAL: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: DECIMALS.add,
    ast.Sub: DECIMALS.subtract,
    ast.Mult: DECIMALS.multiply,
    ast.Div: DECIMALS.divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: _modulo,
    ast.Pow: DECIMALS.power,
}
