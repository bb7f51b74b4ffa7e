"""Turn the research notes' tables into `results/published/`; the result is committed.

Usage: python scripts/make_published.py FOLDER, where FOLDER holds operators_arrow.csv, operators_equals.csv,
restgpt_table4.csv and restbench_followups.csv. Operators: each inferred k is checked again, it must be the only count
that gives the printed percentage at the printed digits. RestBench: k and n are filled in only where one count of one
possible denominator fits, and the strategy of ours that a system corresponds to where there is one.
"""

from __future__ import annotations

import csv
import sys
from itertools import groupby
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "results" / "published"


def fits(k: int, trials: int, printed: str) -> bool:
    """Whether k / trials in percent prints as `printed`, rounded as Python's formatting does (31.25 gives 31.2)."""
    return f"{100 * k / trials:.{len(printed.partition('.')[2])}f}" == printed


DENOMINATORS = {"TMDB": (100,), "Spotify": (55, 57)}  # the paper's Spotify columns mix two
STRATEGIES = {
    "Offline": "offline",
    "DEPS": "deps",
    "ReAct": "react",
    "Reflexion": "reflexion",
    "RestGPT": "restgpt",
    "RestGPT w/o planner": "no-planner",
    "RestGPT w/o parser": "no-schema-parser",
}


def counts(printed: str, scenario: str) -> tuple[int | str, int | str]:
    """(k, n) of a printed percentage; two empty texts where none fits, or several do."""
    known = DENOMINATORS.get(scenario, ())
    fitting = [(k, n) for n in known for k in range(n + 1) if printed and fits(k, n, printed)]
    return fitting[0] if len(fitting) == 1 else ("", "")


def restbench(folder: Path, name: str, target: str) -> None:
    """Write one of the RestBench tables, its rows as they are and three columns more."""
    with (folder / name).open(encoding="utf-8") as source, (TARGET / target).open("w", newline="") as file:
        reader = csv.DictReader(source)
        columns = [*(reader.fieldnames or ()), "strategy", "success_k", "success_n"]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in reader:
            k, n = counts(row["success_percent"], row["scenario"])
            strategy = STRATEGIES.get(row["system"].partition(" (")[0], "")
            writer.writerow({**row, "strategy": strategy, "success_k": k, "success_n": n})


def main(folder: Path) -> None:
    """Write all files; stop at the first operator count that is not the only one to fit."""
    restbench(folder, "restgpt_table4.csv", "restbench_table4.csv")
    restbench(folder, "restbench_followups.csv", "restbench_followups.csv")
    operators(folder)


def operators(folder: Path) -> None:
    """Write one file per (model, syntax)."""
    rows = [row for name in ("arrow", "equals") for row in csv.DictReader((folder / f"operators_{name}.csv").open())]
    for (model, syntax), group in groupby(rows, key=lambda row: (row["model"], row["syntax"])):
        path = TARGET / model.lower().replace(" ", "-") / f"{syntax}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["skill", "shots", "percent", "k", "n"])
            for row in group:
                trials, printed = int(row["trials"]), row["accuracy_percent"]
                if [k for k in range(trials + 1) if fits(k, trials, printed)] != [int(row["k"])]:
                    sys.exit(f"{path}: {printed} % of {trials} does not give k = {row['k']} alone")
                writer.writerow([row["operator"], row["shots"], printed, row["k"], trials])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
