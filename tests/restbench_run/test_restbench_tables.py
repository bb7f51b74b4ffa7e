"""Failures put down to modules, and the tables and comparisons that follow from records; needs no RestBench files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from experiments import records
from experiments.report.compare import compare
from experiments.report.extra import extra_tables, texts
from experiments.restbench.compare import rows
from experiments.restbench.gold import chain
from experiments.restbench.report import tables
from experiments.restbench.scoring import failure
from toolkit import stats
from toolkit.errors import UserError

GOLD = (chain(["GET /search/movie", "GET /movie/{movie_id}/credits"]),)
SEARCH = {"endpoint": "GET /search/movie", "method": "GET", "status": 200}
OTHER = {"endpoint": "GET /movie/popular", "method": "GET", "status": 200}
REFUSED = {"endpoint": "GET /search/movie", "method": "GET", "status": 422}
WRITE = {"endpoint": "PUT /me/player/pause", "method": "PUT", "status": 204}
GOOD = {"kind": "model", "module": "selector"}
INVENTED = {**GOOD, "unusable": "movie_id = 603 appears neither in the request nor in a result; first choose a call"}
UNKNOWN = {**GOOD, "unusable": "there is no endpoint 'GET /films'; choose from the list"}
CALLER = {"kind": "model", "module": "caller", "unusable": "query parameter query is required"}
PLANNER = {"kind": "model", "module": "planner", "text": "{}"}


@pytest.mark.parametrize(
    ("outcome", "finish", "path", "http", "trace"),
    [
        ("model_error", "model_error", True, [SEARCH], []),
        ("looped", "limit", True, [SEARCH], []),
        ("no_usable_answer", "could_not", False, [], [{**PLANNER, "unusable": "it has no JSON object"}]),
        ("parser_wrong", "answered", True, [SEARCH], []),
        ("caller_wrong_value", "answered", True, [SEARCH, WRITE], []),
        ("selector_invented_parameter", "answered", False, [SEARCH], [INVENTED, PLANNER]),
        ("selector_wrong_api", "answered", False, [SEARCH], [UNKNOWN, PLANNER]),
        ("selector_wrong_api", "answered", False, [SEARCH, OTHER], [PLANNER]),
        ("selector_wrong_api", "answered", False, [], [{"kind": "exchange", "error": "unknown_endpoint"}]),
        ("caller_bad_request", "answered", False, [REFUSED], [PLANNER]),
        ("caller_bad_request", "answered", False, [SEARCH], [CALLER, PLANNER]),
        ("planner_stopped_early", "answered", False, [SEARCH], [PLANNER]),
        # what was mended is no error
        ("planner_stopped_early", "answered", False, [SEARCH], [INVENTED, GOOD, PLANNER]),
        ("planner_stopped_early", "answered", False, [], []),
    ],
)
def test_failures_are_put_down_to_modules(
    outcome: str, finish: str, path: bool, http: list[Any], trace: list[Any]
) -> None:
    sample: Any = {"finish": finish, "http": http, "trace": trace}
    assert failure(sample, path, GOLD) == outcome


def sample(index: int, world: int, right: bool, delta: int | None = 0, **other: Any) -> dict[str, Any]:
    scores = {"success": right, "correct_path": right, "correct_path_v2": True}
    return {
        "id": f"m/restgpt/N2/tmdb/t{world * 100 + index:03d}",
        **{"model": "m", "variant": "restgpt", "shots": 2, "skill": "tmdb", "trial": world * 100 + index},
        **{"order": world, "seed": world, "prefix": "", "held_out": False, "question": f"q{index}", "prompt": "p"},
        **{"truth": "", "expect": {}, "ids": [], "source": "", "text": "", "calls": [], "finish": "answered"},
        **{"scores": scores, "answer": "", "outcome": "success" if right else "parser_wrong"},
        "task": {"index": index, "scenario": "tmdb", "world": world, "counterfactual": False},
        "measures": {"requests": 3, "tool_share": 0.5, "delta_length": delta if right else None},
        "spent": {"tokens": 1000},
        **other,
    }


HEADER = {
    "experiment": "restbench",
    "config": {"path": "x.yaml", "typed": {}, "resolved": {}},
    "report": {
        "title": "RestBench",
        "axes": {"rows": "scenario", "columns": "gold length"},
        "models": ["m"],
        "variants": ["restgpt"],
        "skills": ["tmdb"],
    },
    "planned": 9,
    "models": {},
    "sessions": [{"commit": None, "dirty": None}],
}
# task 0 succeeds in all three worlds, task 1 in two, task 2 in none
SAMPLES = [sample(i, w, i == 0 or (i == 1 and w < 2), delta=i) for i in range(3) for w in range(3)]


def test_the_main_table_states_counts_and_intervals() -> None:
    main, errors, passes = tables(HEADER, SAMPLES)
    row = dict(zip(main.columns, main.rows[0], strict=True))
    interval = stats.wilson(5, 9)
    assert (row["n"], row["successes"], row["success %"]) == (9, 5, pytest.approx(55.5556))
    assert (row["low"], row["high"]) == (pytest.approx(100 * interval.low, abs=1e-4), round(100 * interval.high, 4))
    assert row["CP %"] == row["success %"] and row["CP v2 %"] == 100 and row["tool share %"] == 50
    assert row["delta length"] == pytest.approx(2 / 5)  # over the five successes only
    assert dict(zip(errors.columns, errors.rows[0], strict=True))["parser wrong"] == 4
    assert passes.rows[0][3:] == pytest.approx([100 * 5 / 9, 100 * (1 + 1 / 3) / 3, 100 / 3], abs=1e-3)


def test_missing_is_not_zero() -> None:
    (main, _) = tables(HEADER, [sample(2, 0, False)])
    row = dict(zip(main.columns, main.rows[0], strict=True))
    assert row["delta length"] is None and r"| \-\- |" in texts([main])["report/restbench.md"]
    assert texts([main])["report/restbench.csv"].splitlines()[1].split(",")[main.columns.index("delta length")] == ""


def test_other_experiments_have_no_further_tables() -> None:
    assert extra_tables({"experiment": "operators"}, lambda: pytest.fail("read")) == []  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records.write_header(tmp_path, HEADER)
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "m.restgpt.jsonl").write_text("".join(map(records.dump, SAMPLES)))
    return tmp_path


def test_published_rows_stand_beside_ours(run: Path) -> None:
    result = compare(run, "published:restgpt-table4")
    lines = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
    first = lines[0]
    assert first["published"] == "RestGPT (text-davinci-003)" and first["theirs"] == 75.0
    assert first["ours [95 %]"].endswith("5/9") and first["inside"] == "yes"
    assert first["p"] == pytest.approx(stats.fisher(5, 9, 75, 100), rel=1e-2)
    assert [line["measure"] for line in lines[:3]] == ["success", "CP", "delta"]
    assert any("Worlds differ" in caveat for caveat in result["caveats"])
    assert {row[3] for row in compare(run, "published:restbench-followups/atc")["rows"]} == {
        "ATC (gpt-4-turbo)",
        "ATC (gpt-3.5-16k)",
        "ATC (Mixtral-8x7B)",
    }


@pytest.mark.parametrize("wrong", ["published:restgpt-table5", "published:restgpt-table4/x", "published:../x"])
def test_unknown_tables_are_explained(run: Path, wrong: str) -> None:
    with pytest.raises(UserError, match="choose one of"):
        compare(run, wrong)
    with pytest.raises(UserError, match="no strategy and scenario"):
        compare(run, "published:restgpt-table4/offline")


def test_published_rows_agree_with_the_research_notes(shared_data: Path) -> None:
    for name, source in (("restgpt-table4", "restgpt_table4"), ("restbench-followups", "restbench_followups")):
        with (shared_data / "published" / f"{source}.csv").open(encoding="utf-8") as file:
            notes = list(csv.DictReader(file))
        ours = rows(f"published:{name}")
        assert [{key: row[key] for key in note} for row, note in zip(ours, notes, strict=True)] == notes


def test_counts_print_as_published() -> None:
    for name in ("restgpt-table4", "restbench-followups"):
        for row in rows(f"published:{name}"):
            if row["success_k"]:
                printed, rate = row["success_percent"], 100 * int(row["success_k"]) / int(row["success_n"])
                assert f"{rate:.{len(printed.partition('.')[2])}f}" == printed
    assert json.dumps([row["success_n"] for row in rows("published:restgpt-table4/offline")]) == '["100", "55"]'
