"""What a model's text is read as: fenced code, JSON with faults, and text written to make the reading itself slow."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from toolkit.restgpt.asking import LONGEST_ANSWER, Unusable, read_json, without_fence


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Here you are:\n```python\nprint(1)\n```\nDone.", "print(1)\n"),
        ("```\nprint(1)", "print(1)"),
        ("```py\r\nprint(1)\n  ```", "print(1)\n"),
        ("```python\n```", ""),
        ("```python\nx = '```'\nprint(x)\n```\nand ```more```", "x = '```'\nprint(x)\n"),
        ("<think>```\nwrong\n```</think>\n```\nright\n```", "right\n"),
        ("print(1)", "print(1)"),
    ],
)
def test_the_code_in_an_answer(text, code):
    assert without_fence(text) == code


def test_numbers_that_json_does_not_know_are_missing_values():
    assert read_json('{"a": NaN, "b": 1e999, "c": "\\ud800", "d": 1}') == {"a": None, "b": None, "c": "\ufffd", "d": 1}


@pytest.mark.parametrize(
    "part", ['{"', "{", "{[", '{"a":', '{"a":1,', "{'", '{"a":"x\n', "{//\n", '{"a":"b" "c" ', "{,"]
)
def test_no_text_is_slow_to_read(part):
    """Mending `{"{"{"...` once took 15 s for the longest answer; a second is far more than any needs now."""
    text = (part * LONGEST_ANSWER)[:LONGEST_ANSWER]
    began = time.process_time()
    with suppress(Unusable):
        assert isinstance(read_json(text), dict)
    without_fence("```" + text), without_fence("```" + " " * LONGEST_ANSWER)
    assert time.process_time() - began < 3
