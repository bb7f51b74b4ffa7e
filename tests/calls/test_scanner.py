"""The scanner against hand-written cases and against the whole-text oracle, for any split into chunks."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.calls import ARROW, EQUALS, Call, Scanner, Syntax, find_call
from toolkit.calls.scanner import MAX_ARGUMENTS

PIECES = [
    *("[", "]", "(", ")", "'", '"', "\\", "\n", " ", "1", "a", "é", "日", "_", ".", "-", ","),
    *("[MATH(", "MATH", "[1] ", " -> ", "[DATE()", "5 * 3", "it's", '"x)"', "((", "))", "[A-1.b(", "A" * 70),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def feed_all(scanner: Scanner, chunks: list[bytes]) -> Call | None:
    for chunk in chunks:
        call = scanner.feed(chunk)
        if call is not None:
            return call
    return None


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[low:high] for low, high in pairwise(edges)]


CASES = [
    (" 5 * 3 is [MATH(5 * 3)", ("MATH", "5 * 3", 10, 22)),
    ("[DATE()", ("DATE", "", 0, 7)),
    ("[MATH((1 + 2) * 3) -> 9]", ("MATH", "(1 + 2) * 3", 0, 18)),
    ("[1] (about) [MATH(2)", ("MATH", "2", 12, 20)),
    ("[[MATH(2)", ("MATH", "2", 1, 9)),
    ("é[MATH(2)", ("MATH", "2", 2, 10)),
    ("[S('a) b')", ("S", "'a) b'", 0, 10)),
    ('[S("a\\") b")', ("S", '"a\\") b"', 0, 12)),
    ("[S(what's up)", ("S", "what's up", 0, 13)),
    ('[S(a 5" pipe)', ("S", 'a 5" pipe', 0, 13)),
    ("[S('tis)\n[MATH(2)", ("MATH", "2", 9, 17)),
    ("[S((1)\n[MATH(2)", ("MATH", "2", 7, 15)),
    ("[S('a\\\n[MATH(2)", ("MATH", "2", 7, 15)),
    ("[S(" + "(" * MAX_ARGUMENTS + "[MATH(2)", ("MATH", "2", 3 + MAX_ARGUMENTS, 11 + MAX_ARGUMENTS)),
    ("[S(" + "x" * MAX_ARGUMENTS + ")", ("S", "x" * MAX_ARGUMENTS, 0, 4 + MAX_ARGUMENTS)),
    ("[S(" + "x" * (MAX_ARGUMENTS + 1) + ")", None),
    ("[" + "N" * 64 + "(1)", ("N" * 64, "1", 0, 68)),
    ("[" + "N" * 65 + "(1)", None),
    ("[MA TH(1)", None),
    ("[1MATH(1)", None),
    ("(MATH(1)", None),
    ("[MATH(1", None),
    ("[](1)", None),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_balanced_cases(text: str, expected: tuple[str, str, int, int] | None) -> None:
    wanted = None if expected is None else Call(*expected)
    data = text.encode()
    assert find_call(text, ARROW) == wanted
    assert Scanner(ARROW).feed(data) == wanted
    assert feed_all(Scanner(ARROW), [data[i : i + 1] for i in range(len(data))]) == wanted


FIRST_ONLY = [
    (" is [MATH(5 * 3) -> 15]", ("MATH", "5 * 3", 4, 16)),
    ("[ MATH ( 5 )", ("MATH", "5", 0, 12)),
    ("[MATH((1 + 2) * 3)", ("MATH", "(1 + 2", 0, 13)),
    ("[1] is [MATH(5)", ("1] is [MATH", "5", 0, 15)),
    ("(about) [MATH(5)", None),
    (") [MATH(5)", None),
    ("[a) MATH(5)", None),
    ("[MATH\n(5)", None),
    ("x\n[MATH(5)", None),
    ("[" + "x" * MAX_ARGUMENTS + "(5)", None),
]


@pytest.mark.parametrize(("text", "expected"), FIRST_ONLY)
def test_first_only_cases(text: str, expected: tuple[str, str, int, int] | None) -> None:
    wanted = None if expected is None else Call(*expected)
    data = text.encode()
    assert find_call(text, ARROW, first_only=True) == wanted
    assert Scanner(ARROW, first_only=True).feed(data) == wanted
    assert feed_all(Scanner(ARROW, first_only=True), [data[i : i + 1] for i in range(len(data))]) == wanted


@given(text=TEXTS, cuts=st.lists(st.integers(0, 10_000), max_size=12), first_only=st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_split_agrees_with_the_oracle(text: str, cuts: list[int], first_only: bool) -> None:
    chunks = split(text.encode(), cuts)
    assert feed_all(Scanner(ARROW, first_only), chunks) == find_call(text, ARROW, first_only)


@given(
    name=st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", fullmatch=True), arguments=st.text("ab1+* é日", max_size=30)
)
@settings(max_examples=40, deadline=None)
def test_a_written_call_is_found_where_it_was_written(name: str, arguments: str) -> None:
    text = "5 [x] é " + EQUALS.call(name, arguments)
    call = find_call(text + "=1]", EQUALS)
    assert call == Call(name, arguments.strip(), 9, len(text.encode()))


def test_overhang_is_forgotten_and_reset_restarts_offsets() -> None:
    scanner = Scanner(ARROW)
    assert scanner.feed(b"x [A(1) [B(2)") == Call("A", "1", 2, 7)
    with pytest.raises(RuntimeError):
        scanner.feed(b"more")
    scanner.reset()
    assert scanner.feed(b"[C(3)") == Call("C", "3", 0, 5)


def test_a_multi_byte_opener_may_be_split() -> None:
    syntax = Syntax("tag", "<<call:", "(", ")", "=>", ">>")
    data = b"a <<<call:F(1)"
    assert feed_all(Scanner(syntax), [data[i : i + 1] for i in range(len(data))]) == Call("F", "1", 3, 14)


def random_chunks(seed: int, count: int) -> list[bytes]:
    generator = random.Random(seed)
    alphabet = b"[](()'\"\\\nAB1\x00\xff\xc3 "
    return [
        generator.randbytes(generator.randrange(24))
        if generator.random() < 0.5
        else bytes(generator.choices(alphabet, k=generator.randrange(24)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("first_only", [False, True])
def test_a_hundred_thousand_random_strings(first_only: bool) -> None:
    """No exception, agreement with the oracle, and memory bounded by the caps."""
    scanner = Scanner(ARROW, first_only)
    fed: list[bytes] = []
    hits = 0
    for chunk in random_chunks(7, 100_000):
        call = scanner.feed(chunk)
        fed.append(chunk)
        if call is not None or len(fed) == 40:
            assert call == find_call(b"".join(fed), ARROW, first_only)
            hits += call is not None
            fed.clear()
            scanner.reset()
    assert hits > 50


def held_bytes(scanner: Scanner) -> int:
    return sum(len(value) for value in vars(scanner._search).values() if isinstance(value, bytes | bytearray))


@pytest.mark.parametrize("first_only", [False, True])
@pytest.mark.parametrize(
    "piece", [b"x" * 999, b"[" * 999, b"[A(" * 333, b"[A('" * 250, b"[\xff" * 500, b"[" + b"A" * 998]
)
def test_memory_is_bounded(first_only: bool, piece: bytes) -> None:
    scanner = Scanner(ARROW, first_only)
    for _ in range(50):
        assert scanner.feed(piece) is None
        assert held_bytes(scanner) <= MAX_ARGUMENTS + len(piece) + 100
