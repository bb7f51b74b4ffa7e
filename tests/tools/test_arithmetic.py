"""MATH against Python on integers, against hand-worked decimals, and within its bounds on hostile input."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.tools.arithmetic import MAX_BITS, Arithmetic, ArithmeticFault, evaluate

LEAVES = st.integers(0, 200).map(str)
BINARY = ["+", "-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>"]
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(inner, st.sampled_from(BINARY), inner).map(" ".join)
        | st.tuples(st.sampled_from(["-", "~", "+"]), inner).map("".join)
        | inner.map("({})".format)
    ),
    max_leaves=6,
)


def python_says(expression: str) -> str | None:
    """Python's answer, or None where it has none. Powers are cut off before they eat the machine."""
    if expression.count("**") + expression.count("<<") > 1:
        return None
    try:
        value = eval(expression)
        return None if isinstance(value, complex) else str(value)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None


@given(EXPRESSIONS)
@settings(max_examples=300, deadline=None)
def test_plain_integers_equal_python(expression: str) -> None:
    try:
        value = evaluate(expression)
    except ArithmeticFault:
        wanted = python_says(expression)
        assert wanted is None or len(wanted) > 600
        return
    if expression.count("**") + expression.count("<<") <= 1:
        assert value == python_says(expression)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(
            ("123 + 456", "579"),
            ("123 * 456", "56088"),
            ("123 ^ 456", "435"),
            ("123 & 456", "72"),
            ("123 - 456", "-333"),
        ),
        *(("123 | 456", "507"), ("-2**2", "-4"), ("2**-1", "0.5"), ("7/2", "3.5"), ("6/3", "2.0"), ("~5", "-6")),
        *(("-7 // 2", "-4"), ("-7 % 3", "2"), ("1_000 + 1", "1001"), ("  5 * 3 ", "15"), ("2**3**2", "512")),
        *(
            ("0.1 + 0.2", "0.3"),
            ("7.50 * 2", "15"),
            ("-7.5 // 2", "-4"),
            ("-7.5 % 2", "0.5"),
            ("1/3 + 0.0", "0." + "3" * 28),
        ),
        *(
            ("1e3", "1000"),
            ("1e-3*1", "0.001"),
            ("1.5e40", "1.5E+40"),
            ("-0.0", "0"),
            ("2.25 ** 0.5", "1.5"),
            ("7 / 2 + 0.0", "3.5"),
        ),
        *(
            (" + ".join(["1"] * 250), "250"),
            ("(" * 40 + "1" + ")" * 40, "1"),
            (f"1 << {MAX_BITS - 1}", str(1 << MAX_BITS - 1)),
        ),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert evaluate(expression) == value


HOSTILE = {
    "tower": "9**9**9",
    "power": "9**999999999",
    "shift": "1<<10**9",
    "negative shift": "1<<-1",
    "nested": "(" * 10_000 + "1" + ")" * 10_000,
    "megabyte": "1" * 1_000_000,
    "megabyte sum": "1+" * 500_000 + "1",
    "big product": "*".join(["9" * 300] * 3 + ["9" * 90]) + "*" + "9" * 300,
    "digits": "9" * 1300,
    "unary": "-" * 999 + "1",
    "invert": "~" * 999 + "1",
    "nested fifty": "(-" * 51 + "1" + ")" * 51,
    "power chain": "2**-" * 240 + "1",
    "zero": "1/0",
    "zero power": "0**-1",
    "modulo": "5 % 0",
    "decimal zero": "1.5 // 0",
    "complex": "(-8) ** (1/3)",
    "decimal root": "(-8) ** 0.5",
    "infinite": "(2**1000/1) * (2**1000/1)",
    "float overflow": "2**4000 / 3",
    "decimal overflow": "9.9 ** 9999",
    "decimal tower": "1.1 ** 9 ** 9 ** 9",
    "exponent": "1e999999999999999999",
    "underflow": "1e-2000",
    "float bits": "(7/2) ^ 1",
    "decimal bits": "1.5 & 1",
    "leading zero": "007",
    "comparison": "1 < 2",
    "matrix": "1 @ 2",
    "name": "e",
    "attribute": "1 .e",
    "call": "1(2)",
    "tuple": "()",
    "import": "__import__('os').system('true')",
    "lambda": "(lambda: 1)()",
    "walrus": "(a:=1)",
    "nul": "1\x00",
    "newline": "1\n+1",
    "unicode digits": "١ + ٢",
    "empty": "",
    "blank": "   ",
    "imaginary": "1j",
    "string": "'a' * 9",
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("expression", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_is_an_error_at_once(expression: str) -> None:
    started = time.thread_time()
    outcome = Arithmetic().run(expression)
    assert time.thread_time() - started < 0.05
    assert outcome.status == "error"
    assert 0 < len(outcome.text) < 120 and "\n" not in outcome.text


def test_a_hundred_thousand_random_strings() -> None:
    generator = random.Random(3)
    alphabet = "0123456789+-*/%^&|~<>()._eE \tx\n"
    values = 0
    for _ in range(100_000):
        text = "".join(generator.choices(alphabet, k=generator.randrange(1, 12)))
        values += Arithmetic().run(text).ok
    assert values > 1000
