"""The summary equals an independent recount of the samples, and says None where there is nothing to say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import synthetic

from experiments.records import read_samples
from experiments.report.layout import Layout, layout_of
from experiments.report.summary import build
from experiments.report.tally import tally
from toolkit import stats


def base(**changes: Any) -> dict[str, Any]:
    return {**synthetic.sample("m", "strict-arrow", 2, "+", 0, 0.9), **changes}


def test_cells_equal_an_independent_recount(reported: Path) -> None:
    summary = json.loads((reported / "summary.json").read_text())
    passed: Counter[tuple[Any, ...]] = Counter()
    total: Counter[tuple[Any, ...]] = Counter()
    for sample in read_samples(reported):
        key = (sample["model"], sample["variant"], sample["skill"], sample["shots"])
        total[key] += 1
        passed[key] += bool(sample["scores"]["paper"])
    cells = {(m["model"], m["variant"], c["skill"], c["shots"]): c for m in summary["matrices"] for c in m["cells"]}
    assert {key: (c["k"], c["n"]) for key, c in cells.items()} == {k: (passed[k], n) for k, n in total.items()}
    for cell in cells.values():
        assert cell["wilson"] == pytest.approx(stats.wilson(cell["k"], cell["n"]), abs=1e-6)
        assert sum(cell["outcomes"].values()) == cell["n"]
        assert cell["held_out"] == (synthetic.SKILLS.index(cell["skill"]) >= cell["shots"])


def test_order_follows_the_header_and_axes_are_named(reported: Path) -> None:
    summary = json.loads((reported / "summary.json").read_text())
    assert [m["model"] for m in summary["matrices"]] == ["gpt-neo-125m", "toy-60M"]
    assert summary["matrices"][0]["rows"] == list(synthetic.SKILLS)
    assert summary["axes"] == {"rows": "operator", "columns": "shots"}


def test_gap_pools_seen_and_held_out() -> None:
    made = [
        base(skill=skill, trial=t, order=t % 4, held_out=skill == "|", scores={"strict": right}, question=f"{skill}{t}")
        for t in range(40)
        for skill, right in (("+", t < 30), ("*", t < 20), ("|", t < 10))
    ]
    (gap,) = build(Layout("x"), tally(made))["matrices"][0]["gaps"]
    assert gap["seen"] == [50, 80] and gap["held_out"] == [10, 40] and gap["gap"] == pytest.approx(0.375)
    assert gap["by_trial"][0] < 0.375 < gap["by_trial"][1]


def test_same_questions_are_compared_pairwise_and_others_are_not() -> None:
    first = [base(shots=1, trial=t, scores={"strict": t < 10}, question=f"q{t}") for t in range(20)]
    second = [base(shots=2, trial=t, scores={"strict": t < 18}, question=f"q{t}") for t in range(20)]
    (step,) = build(Layout("x"), tally([*first, *second]))["matrices"][0]["steps"]
    assert (step["test"], step["first"], step["second"]) == ("mcnemar", [18, 20], [10, 20])
    assert step["p"] == pytest.approx(stats.mcnemar(8, 0), abs=1e-6)
    fresh = [{**sample, "question": sample["question"] + "?"} for sample in second]
    (step,) = build(Layout("x"), tally([*first, *fresh]))["matrices"][0]["steps"]
    assert step["test"] == "fisher" and step["p"] == pytest.approx(stats.fisher(18, 20, 10, 20), abs=1e-6)


def test_models_are_compared_in_the_order_of_the_header() -> None:
    made = [base(model=m, trial=t, scores={"strict": t < k}) for m, k in (("big", 9), ("small", 3)) for t in range(10)]
    layout = layout_of({"report": {"models": ["small", "big"]}})
    (size,) = build(layout, tally(made))["sizes"]
    assert (size["model"], size["from"], size["difference"]) == ("big", "small", pytest.approx(0.6))


def test_missing_is_none() -> None:
    made = [base(trial=t, scores={"strict": None}, held_out=True) for t in range(3)]
    (matrix,) = build(Layout("x"), tally(made))["matrices"]
    (cell,) = matrix["cells"]
    assert (cell["n"], cell["rate"], cell["wilson"], cell["samples"]) == (0, None, None, 3)
    assert matrix["gaps"][0]["gap"] is None


def test_a_cell_may_be_held_out_in_some_trials_only() -> None:
    made = [base(trial=t, held_out=t % 2 == 0) for t in range(4)]
    assert build(Layout("x"), tally(made))["matrices"][0]["cells"][0]["held_out"] is None


def test_confusion_names_what_was_called() -> None:
    made = [base(trial=0, outcome="right_by_call"), base(trial=1, outcome="wrong_operator", called="*")]
    made += [base(trial=2, outcome="no_call"), base(trial=3, outcome="cut_by_budget")]
    (entry,) = build(Layout("x"), tally(made))["matrices"][0]["confusion"]
    assert entry["called"] == {"+": 1, "*": 1, "no call": 1, "cut": 1}


def test_throughput_comes_from_the_timings(reported: Path) -> None:
    speeds = json.loads((reported / "summary.json").read_text())["throughput"]
    assert [(s["model"], s["samples"], s["samples_per_second"]) for s in speeds] == [
        ("gpt-neo-125m", 216, 10.0),
        ("toy-60M", 216, 10.0),
    ]
