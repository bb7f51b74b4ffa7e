"""compare: published tables, two runs, stand-ins, and requests that cannot be met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import synthetic
from synthetic import SHOTS, write_run  # type: ignore[import-not-found]

from experiments import published
from experiments.report.commands import compare, print_comparison
from toolkit import stats
from toolkit.errors import UserError


def exact_copy(table: str, variant: str) -> list[dict[str, Any]]:
    """Samples whose paper scores give exactly the counts of a published table."""
    made = []
    for (skill, shots), cell in published.load(table).cells.items():
        for trial in range(cell.n):
            sample = synthetic.sample("gpt-neo-1.3B", variant, shots, skill, trial, 0.5)
            made.append({**sample, "scores": {"paper": trial < cell.k, "strict": False}})
    return made


def test_an_exact_copy_of_a_published_table_agrees_everywhere(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", exact_copy("gpt-neo-1.3b/equals", "paper-equals"))
    (found,) = compare(run, "published:gpt-neo-1.3b/equals")["comparisons"]
    assert found["verdict"] == "36 of 36 published values lie within our 95% interval"
    assert not found["stand_in"] and found["differing"] == 0 and found["spearman"] == pytest.approx(1)
    assert {(cell["test"], cell["difference"]) for cell in found["cells"]} == {("fisher", 0.0)}


def test_numbers_against_a_published_table(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = compare(reported, "published:gpt-neo-125m/arrow")
    (found,) = result["comparisons"]
    assert found["model"] == "gpt-neo-125m" and not found["stand_in"]
    for cell in found["cells"]:
        (k1, n1), (k2, n2) = cell["ours"], cell["theirs"]
        assert cell["inside"] == (stats.wilson(k1, n1).low <= k2 / n2 <= stats.wilson(k1, n1).high)
        assert cell["interval"] == pytest.approx(stats.newcombe(k1, n1, k2, n2), abs=1e-6)
        assert cell["p"] == pytest.approx(stats.fisher(k1, n1, k2, n2), abs=1e-6)
        assert cell["p_adjusted"] >= cell["p"]
    assert json.loads(json.dumps(result)) == result
    print_comparison(result)
    assert found["verdict"] in capsys.readouterr().out


def test_only_the_first_trials(reported: Path) -> None:
    (found,) = compare(reported, "published:gpt-neo-125m/arrow", trials=5)["comparisons"]
    assert {cell["ours"][1] for cell in found["cells"]} == {5}


def test_a_stand_in_is_called_one(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = compare(reported, "published:gpt-neo-2.7b/arrow", model="toy-60M")["comparisons"]
    assert found["stand_in"]
    print_comparison({"comparisons": [found]})
    assert "this is no reproduction" in " ".join(capsys.readouterr().out.split())


def test_two_runs_with_the_same_questions_are_paired(reported: Path, tmp_path: Path) -> None:
    worse = [
        {**sample, "scores": {**sample["scores"], "paper": sample["scores"]["paper"] and sample["trial"] % 2 == 0}}
        for sample in synthetic.samples(12, shots=SHOTS)
    ]
    other = write_run(tmp_path / "other", worse)
    first, second = compare(reported, str(other))["comparisons"]
    assert first["model"] == "gpt-neo-125m" and second["model"] == "toy-60M"
    assert {cell["test"] for cell in first["cells"]} == {"mcnemar"}
    assert all(cell["difference"] >= 0 for cell in first["cells"])
    assert first["verdict"].endswith("of the other run's values lie within our 95% interval")
    itself = compare(reported, str(reported))["comparisons"][0]
    assert {cell["p"] for cell in itself["cells"]} == {1.0}


@pytest.mark.parametrize(
    "other,choice,message",
    [
        ("published:gpt-neo-9b/arrow", {}, "there is no published table"),
        ("published:gpt-neo-1.3b/equals", {}, "no variant of the run uses the equals syntax"),
        ("published:gpt-neo-1.3b/arrow", {"model": "gpt-5"}, "it has: gpt-neo-125m paper-arrow, toy-60M paper-arrow"),
        ("/nowhere", {}, "not a run folder"),
    ],
)
def test_wrong_requests_are_explained(reported: Path, other: str, choice: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        compare(reported, other, **choice)
