"""Turn the research notes' operator tables into `results/published/MODEL/SYNTAX.csv`; the result is committed.

Usage: python scripts/make_published.py FOLDER, where FOLDER holds operators_arrow.csv and operators_equals.csv. Each
inferred k is checked again: it must be the only count that gives the printed percentage at the printed digits.
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


def main(folder: Path) -> None:
    """Write one file per (model, syntax); stop at the first count that is not the only one to fit."""
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
