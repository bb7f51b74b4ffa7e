"""Reading answers: what an honest agent may write passes, what a clever one writes instead of knowing does not."""

from __future__ import annotations

from datetime import date

import pytest

from experiments.restbench import expect, matching
from experiments.restbench.oracle import Fact, Leaf, Seen
from toolkit.restgpt.exchange import Exchange


def seen(*bodies: object, url: str = "/x", status: int = 200) -> Seen:
    return Seen([Exchange("GET", "GET /x", url, status=status, json=body) for body in bodies])


@pytest.mark.parametrize(
    "text",
    [
        "1999-05-03",
        "3 May 1999",
        "May 3, 1999",
        "May 3rd 1999",
        "the 3rd of May, 1999",
        "03/05/1999",
        "3.5.1999",
        "Sept 1",
    ],
)
def test_dates(text: str) -> None:
    assert (date(1999, 5, 3) in matching.dates(f"Released on {text}.")) == (text != "Sept 1")


def test_numbers_leave_dates_out() -> None:
    assert matching.numbers("On 1999-05-03, 1,234 saw 7.5 or forty-two or twelve") == [1234.0, 7.5, 42.0, 12.0]


def test_longer_names_use_their_words_up() -> None:
    names = ["Avatar", "Avatar: The Way of Water", "The Matrix"]
    assert [n for _, n in matching.mentioned(names, "I saw avatar - the way of water and Matrix")] == names[1:]
    assert matching.mentioned(["Ann Lee"], "Joann Leeds") == []


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("Ada Wren has a higher rating than Bo Voss.", "Ada Wren"),
        ("Bo Voss (7.1) is lower than Ada Wren (7.3).", "Ada Wren"),
        ("Ada Wren: 7.3. Bo Voss: 7.1. So the higher one is Ada Wren.", "Ada Wren"),
        ("The higher rating belongs to Ada Wren, not Bo Voss.", "Ada Wren"),
        ("Compared with Bo Voss, Ada Wren has the higher rating.", "Ada Wren"),
        ("Ada Wren.", "Ada Wren"),
        ("Ada Wren and Bo Voss both have ratings.", None),
        ("Nobody knows.", None),
    ],
)
def test_choice(text: str, picked: str | None) -> None:
    assert matching.chosen(["Ada Wren", "Bo Voss"], text, ["higher"], ["lower"]) == picked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes, both star in it.", True),
        ("No, they do not.", False),
        ("It is not in the list.", False),
        ("The directors are different people.", False),
        ("Mulholland Drive is in the top 10.", True),
        ("Yes and no", None),
        ("Perhaps", None),
        ("", None),
    ],
)
def test_yes_or_no(text: str, said: bool | None) -> None:
    assert matching.says_yes(text) is said


@pytest.mark.parametrize(
    ("text", "honest"),
    [
        ("The founding date is not available from the API.", True),
        ("I could not find when it was founded.", True),
        ("The API doesn't provide this information.", True),
        ("It was founded in 1923.", False),
        ("The exact date is not available, but it was founded in 1923.", False),
        ("Amber Pictures", False),
    ],
)
def test_abstention(text: str, honest: bool) -> None:
    assert matching.abstains(text) == honest


def test_evidence_is_whole_words_of_successful_answers() -> None:
    body = {"id": 5, "name": "Señor X", "parts": [{"id": 7, "release_date": "1999-05-03", "genre_ids": [1, 2]}]}
    shown = seen(body)
    assert shown.shows(Leaf("senor x")) and shown.shows(Leaf("1999-05-03")) and not shown.shows(Leaf("enor"))
    assert shown.shows(Fact(7, "genre_ids", 2)) and not shown.shows(Fact(5, "genre_ids", 2))
    assert not seen(body, status=404).shows(Leaf("senor x"))
    assert not seen(body, url="/x?query=se%C3%B1or+x").shows(Leaf("Señor X"))
    assert seen({"release_date": "1999-05-03T00:00:00.000Z"}).shows(Leaf("1999-05-03"))


def test_names_need_enough_right_and_few_wrong() -> None:
    shown = seen(["Ada Wren", "Bo Voss", "Cy Thorne", "Di Quayle"])
    form = expect.Names(("Ada Wren", "Bo Voss"), 2, ("Cy Thorne", "Di Quayle"), 1)
    assert form.fault("Ada Wren and Bo Voss, not Cy Thorne", shown) is None
    assert form.fault("Ada Wren", shown)
    assert form.fault("Ada Wren, Bo Voss, Cy Thorne, Di Quayle", shown)
    assert form.fault("Ada Wren and Bo Voss", seen(["Ada Wren"]))


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("It was Ada Wren, not Bo Voss.", True),
        ("Not Bo Voss but Ada Wren.", True),
        ("Although it is not stated in so many words, it is Ada Wren", True),
        ("Ada Wren (also in the cast: Bo Voss)", True),
        ("It was not Ada Wren.", False),
        ("It wasn't directed by Ada Wren", False),
        ("Anyone other than Ada Wren", False),
        ("Either Ada Wren or Bo Voss", False),
        ("Ada Wren or maybe Bo Voss", False),
        ("Bo Voss", False),
    ],
)
def test_denials_and_hedges(answer: str, right: bool) -> None:
    form = expect.Names(("Ada Wren",), 1, ("Bo Voss", "Cy Thorne"))
    assert (form.fault(answer, seen(["Ada Wren"])) is None) == right


def test_paths_may_stand_in_urls_but_not_among_many() -> None:
    paths = [f"/{letter * 27}.jpg" for letter in "abcd"]
    form, shown = expect.Paths((paths[0],)), seen(paths)
    assert form.fault(f"https://image.example/t/p/w500{paths[0]}", shown) is None
    assert form.fault(f"![poster]({paths[0][1:]})", shown)  # no slash, no path
    assert form.fault(" ".join(paths), shown)
    assert form.fault(paths[1], shown)


def test_numbers_among_many_are_no_answer() -> None:
    form = expect.Number(12, "How many episodes does 2 Broke Girls have?")
    assert form.fault("2 Broke Girls has 12 episodes over 3 seasons", seen()) is None
    assert form.fault("10, 11, 12, 13 or 14", seen())
    assert form.fault("It has 120 episodes", seen())
    assert form.fault("It has 12 or 13 episodes", seen()) and form.fault("Certainly not 12 episodes", seen())


def test_slashed_dates_count_once() -> None:
    form, shown = expect.Dates(("1999-05-03",), spare=0), seen("1999-05-03")
    assert form.fault("05/03/1999", shown) is None and form.fault("3/5/1999", shown) is None
    assert form.fault("1999-05-03 or 1999-05-04", shown) and form.fault("It was not on 1999-05-03.", shown)
    assert form.fault("May 1999", shown)


def test_a_retelling_shares_words() -> None:
    text = "Ada Wren steals the copper sextant in Greywater while the town sleeps."
    form = expect.Gist(text, "What did the third episode talk about?")
    assert form.fault("Someone named Ada Wren steals a copper sextant while Greywater sleeps", seen(text)) is None
    assert form.fault("It is about the third episode", seen(text))
    assert form.fault(text, seen())
