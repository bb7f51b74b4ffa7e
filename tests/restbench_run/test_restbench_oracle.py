"""The scripted model that knows the way: it does every task through the real pipeline, and only by what it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.restbench.data import SCENARIOS, Scenario
from experiments.restbench.metrics import correct_path, endpoints
from experiments.restbench.oracle_model import OracleModel
from experiments.restbench.play import Rules, play
from experiments.restbench.scenario import Bench, Sitting, World
from toolkit.restgpt.budget import RunLimits
from toolkit.restgpt.strategies import STRATEGIES

FEW = {"tmdb": [5, 53], "spotify": [0]}


class Silent(OracleModel):
    """An oracle whose Parser finds nothing."""

    def _parser(self, prompt: str, done: int) -> str:
        return "```python\nprint('done')\n```"


def episode(bench: Bench, index: int, strategy: str, seed: int = 1, kind: type[OracleModel] = OracleModel):
    """(verdict, answer, endpoints that were called)."""
    task, world = bench.tasks[index], World(seed, counterfactual=seed > 9)
    scout, sitting = Sitting(bench.scenario, world), Sitting(bench.scenario, world)
    answer = scout.solve(task)
    model = kind(scout.episode.log, answer, task.answerable, lambda: len(sitting.episode.log))
    said = play(sitting, task.query, bench.spec, model, Rules(strategy, RunLimits()))
    return sitting.judge(task, said.text), said, endpoints(sitting.episode.log)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_does_some_tasks(folder: Path, strategy: str) -> None:
    for scenario, indices in FEW.items() if strategy == "restgpt" else [("tmdb", [0])]:
        bench = Bench(scenario, folder)  # type: ignore[arg-type]
        for index in indices:
            verdict, said, made = episode(bench, index, strategy)
            assert verdict.ok, (index, verdict.reason, said.text)
            assert said.status == ("answered" if bench.tasks[index].answerable else "could_not")
            assert correct_path(made, bench.accepted_paths[index])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_all_tasks(folder: Path, scenario: Scenario) -> None:
    bench = Bench(scenario, folder)
    for index in range(len(bench.tasks)):
        verdict, said, _ = episode(bench, index, "no-schema-parser", seed=12)
        assert verdict.ok, (index, verdict.reason, said.text)


def test_it_uses_only_what_the_prompts_show(folder: Path) -> None:
    """When the Parser loses what a response gave, the oracle cannot go on, although it knows the way."""
    verdict, said, made = episode(Bench("tmdb", folder), 5, "restgpt", kind=Silent)
    assert not verdict.ok and said.status == "model_error" and "does not show" in said.text
    assert len(made) == 1
