"""The tuning experiment from command to table, with real adapters of a tiny model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
import yaml
from peft import PeftModel
from tiny import tiny_model, tiny_tokenizer
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from experiments.base import load
from experiments.cli import outcome
from experiments.records import read_header, read_samples
from experiments.tuning.live import perplexity
from experiments.tuning.report import tables
from experiments.tuning.retention import NAME, NoCall
from toolkit.decoding.engine import Engine
from toolkit.tuning.adapter import prefix_of, read_adapter

COLUMNS = ("untuned", "prefix", "lora")


@pytest.fixture
def config(bases, adapters, tmp_path, monkeypatch) -> Path:
    """An evaluation of one adapter per column on the tiny llama; the working folder is the test's own."""
    monkeypatch.chdir(tmp_path)
    columns = [{"name": "untuned"}]
    columns += [{"name": name, "adapter": str(adapters["llama", name])} for name in COLUMNS[1:]]
    data = {
        "experiment": "tuning",
        "models": [{"name": "tiny", "path": str(bases["llama"]), "model_tokens": 6}],
        "columns": columns,
        "shots": [0, 1],
        "skills": ["+", "^"],
        "trials": 2,
        "orders": 1,
        "slots": 16,
    }
    path = tmp_path / "eval.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_run_and_its_tables(config):
    assert outcome(["run", str(config), "--limit", "1"]) == 0
    assert outcome(["run", str(config)]) == 0
    run = Path("runs/eval")
    samples = list(read_samples(run))
    assert len(samples) == 3 * 2 * 3 * 2
    held = {(s["variant"], s["shots"], s["skill"]): s["held_out"] for s in samples}
    assert held["untuned", 0, "+"] and not held["untuned", 1, "+"]
    assert not held["prefix", 0, "+"] and held["prefix", 0, "^"] and held["lora", 1, "^"]
    assert held["untuned", 0, NAME] and not held["prefix", 0, NAME]
    header = read_header(run)
    made = {table.name: table for table in tables(header, samples)}
    assert list(made) == ["adapters-tiny-N0", "adapters-tiny-N1", "retention-tiny", "costs"]
    assert made["adapters-tiny-N0"].columns == ["", "untuned", "prefix", "lora"]
    assert [row[0] for row in made["adapters-tiny-N0"].rows] == ["+", "^", NAME]
    assert "† [" in made["adapters-tiny-N0"].rows[1][2] and "†" not in made["adapters-tiny-N0"].rows[0][2]
    assert made["costs"].rows[0] == ["untuned", *[None] * 6]
    assert made["costs"].rows[1][:4] == ["prefix", "prefix", "* +", 480]
    (bare, prefix, _) = made["retention-tiny"].rows
    assert bare[2] == 1 and prefix[1] == header["models"]["tiny + prefix"]["perplexity"] != bare[1]


@pytest.mark.slow
def test_report_and_verify(config):
    for verb in (["run", str(config)], ["report", "runs/eval"], ["verify", "runs/eval"], ["score", "runs/eval"]):
        assert outcome(verb) == 0
    assert Path("runs/eval/report/adapters-tiny-N0.csv").read_text().startswith(",untuned,prefix,lora\n")


def test_the_same_questions_stand_in_every_column(config):
    experiment, _ = load(config)
    items = list(experiment.items())
    assert len(items) == len({item.id for item in items})
    asked = {}
    for item in items:
        asked.setdefault((item.shots, item.skill, item.trial), set()).add(experiment.ask(item).question.text)
    assert all(len(texts) == 1 for texts in asked.values())
    assert experiment.ask(items[0]).parts == ()  # no controls: at N = 0 an adapter stands alone


def test_a_changed_adapter_is_not_mixed_into_a_run(config, adapters, capsys):
    changed = config.read_text().replace(str(adapters["llama", "lora"]), str(adapters["llama", "prompt"]))
    assert outcome(["run", str(config), "--limit", "1"]) == 0
    config.write_text(changed)
    assert outcome(["run", str(config)]) == 2
    assert "another configuration (columns.lora.adapter" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": [{"name": "a", "adapter": "nowhere"}]}, "no such adapter folder"),
        ({"columns": [{"name": "paper-x"}]}, "take another name"),
        ({"columns": [{"name": "a"}, {"name": "a"}]}, "is there twice"),
        ({"shots": [9]}, "no prompts with 9 shots"),
        ({"suite": "operatros"}, "no suite is named"),
        ({"colums": []}, "did you mean 'columns'"),
    ],
)
def test_mistakes_in_an_evaluation_are_one_line(config, capsys, change, says):
    config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), **change}))
    assert outcome(["run", str(config)]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert says in said[-1] and sum(line.startswith("toolkit:") for line in said) == 1


def test_a_false_call_is_counted_and_silence_is_right(config):
    experiment, _ = load(config)
    sample = {
        "skill": NAME, "variant": "prompt", "text": " Berlin.", "calls": [], "truth": "Berlin", "finish": "stop",
        "expect": {"api": "", "arguments": ""}, "scores": {},
    }  # fmt: skip
    (right,) = experiment.score([dict(sample)], None)
    assert right["scores"]["strict"] and right["outcome"] == "right_without_call"
    call = {"name": "MATH", "arguments": "1+1", "status": "ok", "result": "2", "start": 1, "end": 11}
    (wrong,) = experiment.score([{**sample, "text": " [MATH(1+1) -> 2] Berlin.", "calls": [call]}], None)
    assert not wrong["scores"]["strict"] and wrong["outcome"] == "wrong_operator"
    (begun,) = experiment.score([{**sample, "text": " It is [MATH(Berlin"}], None)
    assert not begun["scores"]["strict"] and begun["outcome"] == "malformed_call"


def test_questions_without_a_call_come_once_each():
    skill = NoCall()
    assert len({skill.of_trial(trial).text for trial in range(100)}) == 100


@pytest.mark.parametrize("family", ["gpt_neo", "llama"])
@pytest.mark.parametrize("method", ["prompt", "prefix"])
def test_perplexity_is_that_of_pefts_forward_pass(adapters, bases, family, method):
    text, tokenizer = "Snow fills the river to the edge of the bridge.", tiny_tokenizer()
    folder = adapters[family, method]
    bare = AutoModelForCausalLM.from_pretrained(bases[family]).eval().requires_grad_(False)
    prefix = prefix_of(read_adapter(folder), Engine(bare, 1))
    got = perplexity(bare, tokenizer, prefix, text)
    ids = torch.tensor([tokenizer.encode(text)])
    logits = PeftModel.from_pretrained(bare, folder).eval()(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    own = math.exp(float(cross_entropy(logits[0, -ids.shape[1] : -1].detach(), ids[0, 1:])))
    assert got == pytest.approx(own, rel=1e-4)
    assert perplexity(tiny_model(family), tokenizer, None, text) != pytest.approx(own, rel=1e-3)


def test_costs_are_missing_where_an_adapter_does_not_state_them(config, adapters, tmp_path):
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    for path in adapters["llama", "prompt"].glob("adapter*"):
        (stranger / path.name).write_bytes(path.read_bytes())
    data = yaml.safe_load(config.read_text())
    data["columns"] = [{"name": "theirs", "adapter": str(stranger), "trained": ["^"]}]
    config.write_text(yaml.safe_dump(data))
    experiment, _ = load(config)
    cost = experiment.header()["report"]["costs"]["theirs"]
    assert cost["trained"] == ["^"] and cost["tokens"] is None and cost["trainable"] is None
    assert json.dumps(experiment.resolved)
    assert not next(experiment.ask(item).held_out for item in experiment.items() if item.skill == "^")
