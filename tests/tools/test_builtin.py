"""DATE and SEARCH as the published fragments show them, and the three tools together."""

from __future__ import annotations

import datetime

import pytest

from toolkit.tools.builtin import builtin
from toolkit.tools.clock import Clock, written
from toolkit.tools.lookup import Lookup
from toolkit.tools.toolbox import Toolbox


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (22, "22nd"),
    ],
)
def test_ordinals(day: int, text: str) -> None:
    assert written(datetime.date(2023, 1, day)) == f"Jan {text}, 2023"


def test_a_fixed_date_is_repeatable_and_none_reads_the_clock() -> None:
    assert Clock(datetime.date(2023, 2, 20)).run().text == "Feb 20th, 2023"
    before = datetime.date.today()
    assert Clock().run().text in {written(before), written(datetime.date.today())}


@pytest.mark.parametrize("query", ["earth population", "World  Population", " earth population "])
def test_search_knows_the_published_queries(query: str) -> None:
    assert Lookup().run(query).text == "7.888 billion (2021)"


def test_search_guesses_nothing() -> None:
    assert Lookup().run("mars population").status == "error"


def test_the_published_calls() -> None:
    toolbox = Toolbox(builtin(datetime.date(2023, 2, 20)))
    assert toolbox.names == ("MATH", "DATE", "SEARCH")
    assert all(toolbox.inline(name) for name in toolbox.names)
    assert toolbox.run("MATH", "123 ^ 456").text == "435"
    assert toolbox.run("DATE", "").text == "Feb 20th, 2023"
    assert toolbox.run("SEARCH", "earth population").text == "7.888 billion (2021)"
