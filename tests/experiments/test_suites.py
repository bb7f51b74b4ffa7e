from __future__ import annotations

import operator
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest

from experiments.suites.calendar_suite import DAYS, Calendar
from experiments.suites.load import load_suite, shipped
from experiments.suites.suite import identify
from toolkit.errors import UserError
from toolkit.plugins.examples import ExampleCall, example_fragment, parse_answer

PYTHON = {
    "+": operator.add,
    "*": operator.mul,
    "^": operator.xor,
    "&": operator.and_,
    "-": operator.sub,
    "|": operator.or_,
}

MINIMAL = """\
name: capitals
apis: {LOOKUP: {tool: lookup, entries: {capital of france: Paris, capital of peru: Lima}}}
skills:
  - name: capital
    api: LOOKUP
    question: What is the capital of {country}?
    arguments: capital of {country}
    rows: [{country: France, city: Paris}, {country: Peru, city: Lima}]
    truth: "{city}"
    example: ["What is the capital of Chad?", "It is [LOOKUP(capital of Chad) -> N'Djamena] N'Djamena."]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


def test_three_suites_ship() -> None:
    assert shipped() == ["calendar", "operators", "units"]


@pytest.mark.parametrize("name", ["calendar", "operators", "units"])
def test_every_example_and_truth_agrees_with_the_suites_own_tool(name: str) -> None:
    suite = load_suite(name)
    assert len({skill.name for skill in suite.skills}) == len(suite.skills) >= 5
    assert set(suite.names) > set(suite.introduction)  # one skill at least is held out throughout
    for skill in suite.skills:
        calls = [piece for piece in parse_answer(skill.example[1]) if isinstance(piece, ExampleCall)]
        for call in calls:
            outcome = suite.tools[call.name].run(call.arguments, ())
            assert outcome.ok and outcome.text == call.result
        assert identify(suite.skills, calls[0].name, calls[0].arguments) == (skill.name, calls[0].arguments)
        for draw in range(50):
            question = skill.ask(Random(draw))
            assert skill.ask(Random(draw)) == question
            assert suite.tools[skill.api].run(question.arguments, ()).text == question.truth
            assert identify(suite.skills, skill.api, question.arguments) == (skill.name, question.arguments)
    for question_text, answer in suite.controls:
        assert example_fragment(question_text, answer).text.startswith(f"<Guest> {question_text}\n<AI> ")
        for piece in parse_answer(answer):
            if isinstance(piece, ExampleCall):
                assert suite.tools[piece.name].run(piece.arguments, ()).text == piece.result


def test_operator_truths_are_pythons() -> None:
    suite = load_suite("operators")
    for skill in suite.skills:
        for draw in range(200):
            question = skill.ask(Random(draw))
            a, op, b = question.arguments.split()
            assert op == skill.name and PYTHON[op](int(a), int(b)) == int(question.truth)
            assert question.text == f"What is {question.arguments}?" and {int(a), int(b)} <= set(range(101))


@pytest.mark.parametrize(
    ("arguments", "form"),
    [("12+34", "12 + 34"), (" 12  +\t34 ", "12 + 34"), ("012 + -3", "12 + -3"), ("12 + 34 + 5", None), ("a + b", None)],
)
def test_forms_are_read_whatever_their_blanks(arguments: str, form: str | None) -> None:
    assert load_suite("operators").skill("+").read(arguments) == form


def test_calendar_agrees_with_the_standard_library() -> None:
    tool, draw = Calendar(), Random(1)
    for _ in range(200):
        day, days = date(2000, 1, 1) + timedelta(draw.randrange(10000)), draw.randint(0, 400)
        assert tool.run(f"weekday {day}").text == DAYS[int(day.strftime("%u")) - 1]
        assert tool.run(f"{day} + {days}").text == str(date.fromordinal(day.toordinal() + days))
        assert tool.run(f"{day} - {days}").text == str(date.fromordinal(day.toordinal() - days))
        assert tool.run(f"day {day}").text == str(int(day.strftime("%j")))
    for wrong in ("weekday 2023-02-30", "9999-12-31 + 1", "2023-02-20 - 999999", "2023-02-20 * 2", "", "weekday today"):
        assert tool.run(wrong).status == "error"


def test_conversion_refuses_what_it_cannot_convert() -> None:
    tool = load_suite("units").tools["CONVERT"]
    assert tool.run("2.5 km to m", ()).text == "2500" and tool.run("1 m to ft", ()).text == "3.28084"
    assert tool.run("1 m in cm", ()).text == "100" and tool.run("-3 ft to in", ()).text == "-36"
    for wrong in ("12 km to kg", "12 parsec to m", "km to m", "1e9 km to m", "9" * 99 + " km to m"):
        assert tool.run(wrong, ()).status == "error"


def test_a_table_suite_in_yaml(tmp_path: Path) -> None:
    suite = load_suite("own.yaml", write(tmp_path, MINIMAL).parent)
    asked = {suite.skill("capital").ask(Random(draw)) for draw in range(20)}
    assert {(question.text, question.truth) for question in asked} == {
        ("What is the capital of France?", "Paris"),
        ("What is the capital of Peru?", "Lima"),
    }
    assert suite.introduction == ("capital",)
    assert suite.digest != load_suite("operators").digest


def test_a_suite_in_python(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from experiments.suites.load import load_suite\nSUITE = load_suite('units')\n")
    assert load_suite(str(path)).name == "units"
    path.write_text("SUITE = 1 / 0\n")
    with pytest.raises(UserError, match="ZeroDivisionError"):
        load_suite(str(path))
    path.write_text("suite = 3\n")
    with pytest.raises(UserError, match="no SUITE"):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("api: LOOKUP", "api: FIND", "no API is named 'FIND'"),
        ("truth: ", "trueth: ", "trueth"),
        ('"{city}"', '"{town}"', "town"),
        ("{tool: lookup,", "{tool: look,", "tool"),
        ("entries: {capital of france: Paris, capital of peru: Lima}", "entries: {}", "entries"),
        ('    truth: "{city}"\n', "    compute: '1 / {country}'\n", "skills.capital"),
        ("name: capitals\n", "name: capitals\nintroduction: [city]\n", "no skill is named 'city'"),
        (
            "  - name: capital\n",
            "  - {name: capital, api: LOOKUP, question: q, arguments: a, truth: t, example: [q, '[LOOKUP(a)]']}\n"
            "  - name: capital\n",
            "two skills",
        ),
        ("name: capital\n", "name: a/b\n", "skills.0.name"),
        ("N'Djamena]", "N'Djamena", "does not parse|not followed"),
    ],
)
def test_mistakes_in_a_suite_name_the_place(tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in MINIMAL
    path = write(tmp_path, MINIMAL.replace(old, new, 1))
    with pytest.raises(UserError, match=what) as caught:
        load_suite(str(path))
    assert str(path) in str(caught.value)
