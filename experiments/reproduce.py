"""The published tables from one command: check the machine, fetch the models, run, compare, report, verify.

Usage: python -m experiments.reproduce [--dry-run] [--cpu] [--out DIR] CONFIG...   (scripts/reproduce_tables.sh)

Each configuration becomes a run folder of its name. The first trials, as many as were published, run first and are
compared like for like; then the rest, for precision. Everything goes through the verbs of the command line, so the
same command resumes. What a machine needs is estimated in reproduce_needs.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments import base, cli, published
from experiments.operators.config import OperatorsConfig
from experiments.operators.experiment import OperatorTransfer
from experiments.reproduce_needs import Needs, check_machine, fetch, needs_of, show
from toolkit.errors import RunError, UserError


def load_config(path: Path) -> OperatorsConfig:
    """A configuration of the held-out experiment."""
    experiment, _ = base.load(path)
    if not isinstance(experiment, OperatorTransfer):
        raise UserError("only the operator tables can be reproduced", f"{path}: experiment", "use operators")
    return experiment.config


def published_tables(config: OperatorsConfig) -> list[published.PublishedTable]:
    """The published tables that some (model, variant) of a configuration measures again."""
    found = [published.find(model.name, variant) for model in config.models for variant in config.variants]
    return list({table.name: table for table in found if table is not None}.values())


def verb(*arguments: object) -> None:
    """One command of the toolkit, shown before it runs; its failure ends everything with its exit code."""
    print(f"$ toolkit {' '.join(map(str, arguments))}", flush=True)
    if code := cli.outcome([str(argument) for argument in arguments]):
        raise SystemExit(code)


def reproduce(path: Path, config: OperatorsConfig, out: Path) -> None:
    """Run one configuration to its end and write what it gives, with the comparisons beside the run folder."""
    folder = out / path.stem
    tables = published_tables(config)
    few = max((cell.n for table in tables for cell in table.cells.values()), default=config.trials)
    if few < config.trials:
        verb("run", path, "--out", folder, "--limit", few)
        compare(folder, tables, config, like_for_like=True)
    verb("run", path, "--out", folder)
    compare(folder, tables, config, like_for_like=False)
    verb("report", folder)
    verb("verify", folder)


def compare(
    folder: Path, tables: Sequence[published.PublishedTable], config: OperatorsConfig, like_for_like: bool
) -> None:
    """Compare with every table; with `like_for_like`, each from as many of our trials as it had itself."""
    from experiments.report.commands import compare as compare_runs
    from experiments.report.commands import print_comparison

    results = []
    for table in tables:
        n = max(cell.n for cell in table.cells.values())
        trials = n if like_for_like else None
        results.append(compare_runs(folder, f"{published.PREFIX}{table.name}", trials=trials))
        print_comparison(results[-1])
    name = "like_for_like" if like_for_like else "all_trials"
    target = folder.with_name(f"{folder.name}.{name}.json")
    target.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {target} ({config.trials} trials planned)", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, show the plan, and unless it is a dry run, do it. Exit codes as everywhere: 0, 1, 2."""
    parser = argparse.ArgumentParser(prog="reproduce_tables", description="Run the published operator tables again.")
    parser.add_argument("--dry-run", action="store_true", help="show the plan with its estimates and stop")
    parser.add_argument("--cpu", action="store_true", help="do without a GPU (for small stand-ins; slow otherwise)")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="where run folders go")
    parser.add_argument("configs", nargs="+", type=Path, metavar="CONFIG")
    given = parser.parse_args(arguments)
    try:
        configs = [(path, load_config(path)) for path in given.configs]
        needs: list[Needs] = [needs_of(config) for _, config in configs]
        show(list(zip(given.configs, needs, strict=True)), given.out)
        if given.dry_run:
            print("dry run: nothing was fetched or run")
            return 0
        check_machine(needs, given.out, cpu=given.cpu)
        for path, config in configs:
            fetch(config)
            reproduce(path, config, given.out)
    except (UserError, RunError) as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
