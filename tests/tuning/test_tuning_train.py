from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import yaml
from tiny import tiny_model, tiny_tokenizer
from tuning.tiny_tuning import Curve, settings

from experiments.cli import outcome
from toolkit.errors import RunError, UserError
from toolkit.tuning import checkpoint
from toolkit.tuning.batches import chosen, collate, labelled
from toolkit.tuning.labels import IGNORED, label_exchange
from toolkit.tuning.loss import summed_loss
from toolkit.tuning.tune import partial_folder, tune

LONG = {"steps": 8, "evaluate_every": 2}


@pytest.mark.parametrize("method", ["prompt", "lora"])
def test_a_stopped_training_goes_on_as_if_nothing_had_happened(bases, tmp_path, method):
    config = settings(bases["llama"], method, budget=LONG)
    whole, first, second = Curve(), Curve(kill_at=5), Curve()
    tune(config, tmp_path / "whole", tmp_path, whole)
    with pytest.raises(KeyboardInterrupt):
        tune(config, tmp_path / "parts", tmp_path, first)
    assert not (tmp_path / "parts").exists()
    tune(config, tmp_path / "parts", tmp_path, second)
    assert second.began_at == 4
    assert second.losses == pytest.approx({n: whole.losses[n] for n in range(5, 9)}, abs=1e-5)
    assert second.checks == pytest.approx({n: whole.checks[n] for n in (6, 8)}, abs=1e-5)
    facts = [json.loads((tmp_path / name / "tuning.json").read_text()) for name in ("whole", "parts")]
    assert facts[0]["losses"] == pytest.approx(facts[1]["losses"], abs=1e-4)
    assert facts[0]["tokens"] == facts[1]["tokens"] and len(facts[1]["losses"]) == 8


@pytest.mark.slow
def test_kill_9_and_the_same_command_give_the_same_loss_curve(bases, tmp_path):
    config = settings(bases["llama"], "prefix", budget={"steps": 60, "evaluate_every": 2})
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config.resolved))
    code = "from experiments.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen(
        [sys.executable, "-c", code, "tune", "c.yaml", "--out", "parts"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    while not (tmp_path / "parts.partial" / checkpoint.NAME).exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not (tmp_path / "parts").exists()
    rest = Curve()
    parts = tune(config, tmp_path / "parts", tmp_path, rest).facts
    whole = tune(config, tmp_path / "whole", tmp_path, Curve()).facts
    assert rest.began_at >= 2 and len(parts["losses"]) == 60
    assert parts["losses"] == pytest.approx(whole["losses"], abs=1e-3)


@pytest.mark.slow
def test_two_processes_train_as_one_does(bases, tmp_path):
    config = settings(bases["llama"], "lora", budget={"batch": 8})
    whole = tune(config, tmp_path / "one", tmp_path, Curve()).facts
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config.resolved))
    command = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "main.py"]
    (tmp_path / "main.py").write_text("from experiments.cli import main\nmain()\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [*command, "tune", "c.yaml", "--out", "two"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    facts = json.loads((tmp_path / "two" / "tuning.json").read_text())
    assert facts["losses"] == pytest.approx(whole["losses"], abs=1e-4)
    assert facts["tokens"] == whole["tokens"] and not (tmp_path / "two.partial").exists()


def test_training_lowers_the_loss_and_touches_nothing_frozen(bases, tmp_path):
    curve = Curve()
    done = tune(
        settings(bases["llama"], "prefix", budget={"steps": 20, "evaluate_every": 5}), tmp_path / "a", tmp_path, curve
    )
    assert min(curve.checks.values()) < curve.losses[1] - 0.1
    model = tiny_model("llama")
    assert done.facts["base"]["parameters"] == sum(p.numel() for p in model.parameters())
    assert done.facts["trainable"] == 5 * 3 * 2 * 2 * 8  # positions x layers x (key, value) x kv heads x size


def test_the_best_weights_are_kept_and_training_stops_early(bases, tmp_path):
    budget = {"steps": 40, "evaluate_every": 1, "patience": 2, "learning_rate": 1e-12}
    curve = Curve()
    facts = tune(settings(bases["llama"], "prompt", budget=budget), tmp_path / "a", tmp_path, curve).facts
    assert (facts["best_step"], facts["steps"]) == (1, 3)  # nothing moves, so nothing gets better
    assert len(set(curve.checks.values())) == 1


def test_accumulated_micro_batches_are_one_batch(bases, tmp_path):
    losses = []
    for number, accumulate in enumerate((1, 4)):
        curve = Curve()
        tune(
            settings(bases["gpt_neo"], "lora", budget={"accumulate": accumulate}),
            tmp_path / str(number),
            tmp_path,
            curve,
        )
        losses.append(curve.losses)
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_the_loss_is_the_models_own_over_labelled_tokens():
    tokenizer, model = tiny_tokenizer(), tiny_model("gpt_neo")
    marked = [
        label_exchange(f"What is {a} + 2?", f"{a} + 2 is [MATH({a} + 2) -> {a + 2}] {a + 2}.", tokenizer)
        for a in (1, 150)
    ]
    rows = [{"input_ids": one.ids, "labels": one.labels} for one in marked]
    own = 0.0
    for one in marked:
        out = model(input_ids=torch.tensor([one.ids]), labels=torch.tensor([one.labels]))
        own += float(out.loss) * sum(label != IGNORED for label in one.labels[1:])
    assert float(summed_loss(model, collate(rows))) == pytest.approx(own, rel=1e-5)
    assert labelled(rows) == sum(label != IGNORED for one in marked for label in one.labels[1:])


def test_batches_cover_every_row_once_a_pass():
    passes = [number for step in range(6) for number in chosen(step, 5, 10, seed=4)]
    assert all(sorted(passes[start : start + 10]) == list(range(10)) for start in (0, 10, 20))
    assert passes[:10] != passes[10:20]


def test_a_loss_that_is_not_finite_ends_the_training_and_overwrites_nothing(bases, tmp_path, monkeypatch):
    config = settings(bases["llama"], "prompt", budget=LONG)
    tune(config, tmp_path / "a", tmp_path, Curve())
    before = (tmp_path / "a" / "tuning.json").read_bytes()
    calls = []

    def broken(model, batch):
        calls.append(1)
        return summed_loss(model, batch) * (float("nan") if len(calls) > 8 else 1.0)

    monkeypatch.setattr("toolkit.tuning.train.summed_loss", broken)
    with pytest.raises(RunError, match=r"loss is nan.*learning_rate"):
        tune(config, tmp_path / "a", tmp_path, Curve(), overwrite=True)
    assert (tmp_path / "a" / "tuning.json").read_bytes() == before
    state, _, _ = checkpoint.read(partial_folder(tmp_path / "a"), config.digest)
    assert all(torch.isfinite(tensor).all() for tensor in state.best.values())


def test_an_existing_adapter_is_replaced_only_when_asked(bases, tmp_path):
    config = settings(bases["llama"], "prompt")
    tune(config, tmp_path / "a", tmp_path, Curve())
    before = (tmp_path / "a" / "adapter_model.safetensors").read_bytes()
    other = settings(bases["llama"], "prompt", seed=2)
    with pytest.raises(UserError, match=r"exists already.*--overwrite"):
        tune(other, tmp_path / "a", tmp_path, Curve())
    assert (tmp_path / "a" / "adapter_model.safetensors").read_bytes() == before
    tune(other, tmp_path / "a", tmp_path, Curve(), overwrite=True)
    assert (tmp_path / "a" / "adapter_model.safetensors").read_bytes() != before


def test_an_unfinished_training_of_another_configuration_is_refused(bases, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        tune(settings(bases["llama"], "prompt", budget=LONG), tmp_path / "a", tmp_path, Curve(kill_at=3))
    with pytest.raises(UserError, match="another configuration"):
        tune(settings(bases["llama"], "prefix", budget=LONG), tmp_path / "a", tmp_path, Curve())
    (tmp_path / "a.partial" / checkpoint.NAME).write_bytes(b"torn")
    with pytest.raises(UserError, match="checkpoint cannot be read"):
        tune(settings(bases["llama"], "prompt", budget=LONG), tmp_path / "a", tmp_path, Curve())


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("data.first", "null", "exactly one of first, all_but and operators"),
        ("budget.accumulate", "3", "batch is no multiple of accumulate"),
        ("method.kind", "prompts", "method"),
        ("method.rank", "3", "method.prompt.rank"),
        ("data.low", "500", "low is above high"),
        ("model.path", "./nowhere", "no such model folder"),
    ],
)
def test_mistakes_in_a_configuration_are_one_line(bases, tmp_path, monkeypatch, capsys, key, value, says):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(yaml.safe_dump(settings(bases["llama"], "prompt").resolved))
    assert outcome(["tune", "c.yaml", "--set", f"{key}={value}"]) == 2
    said = capsys.readouterr().err.strip()
    assert says in said and "\n" not in said
    assert not list(Path().glob("runs/tuning/*/adapter_config.json"))
