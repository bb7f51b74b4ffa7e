"""The whole reproduction with tiny random GPT-Neo checkpoints standing in for the three sizes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from experiments import reproduce, reproduce_needs
from toolkit.errors import UserError

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGS = sorted((REPOSITORY / "configs" / "operators").glob("reproduce_*.yaml"))
SMALL = """\
experiment: operators
models:
  - {{name: {name}, path: "{path}", model_tokens: 8, segment_tokens: 4, device: cpu}}
variants: [paper-arrow-t0.9, strict-arrow, strict-equals]
shots: [0, 1]
skills: ["+", "&"]
trials: {trials}
orders: 2
slots: 64
"""


def tiny_gpt_neo(folder: Path, tokenizer: Path, seed: int) -> Path:
    """A random GPT-Neo of two layers, one global and one local, with the GPT-2 vocabulary."""
    import torch
    from transformers import GPT2TokenizerFast, GPTNeoConfig, GPTNeoForCausalLM

    torch.manual_seed(seed)
    config = GPTNeoConfig(
        hidden_size=16, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]], window_size=64
    )
    GPTNeoForCausalLM(config).save_pretrained(folder)
    GPT2TokenizerFast.from_pretrained(tokenizer).save_pretrained(folder)
    return folder


def test_the_shipped_configurations_fit_common_cards(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert reproduce.main(["--dry-run", "--out", str(tmp_path / "out"), *map(str, CONFIGS)]) == 0
    out = capsys.readouterr().out
    assert len(CONFIGS) == 3 and out.count("86400") == 3 and "nothing was fetched or run" in out
    assert not (tmp_path / "out").exists()
    for path in CONFIGS:
        config = reproduce.load_config(path)
        needs = reproduce_needs.needs_of(config)
        assert needs.gpu < {"gpt-neo-125m": 8e9, "gpt-neo-1.3B": 16e9, "gpt-neo-2.7B": 24e9}[config.models[0].name]
        assert {v.split("-")[0] for v in config.variants} == {"paper", "strict"} and config.trials == 400
        assert len(reproduce.published_tables(config)) == (1 if "2.7" in path.name else 2)


def test_parameter_counts_are_those_of_the_checkpoints() -> None:
    counts = [reproduce_needs.parameters(*shape) for shape in reproduce_needs.SHAPES.values()]
    assert counts == [125_198_592, 1_315_575_808, 2_651_307_520]


def test_a_machine_without_gpu_or_disk_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert reproduce.main(["--out", str(tmp_path), str(CONFIGS[0])]) == 2
    assert "no CUDA GPU was found" in capsys.readouterr().err
    huge = reproduce_needs.Needs(1, 1, 1, 10**18, 1.0)
    with pytest.raises(UserError, match="of disk are needed"):
        reproduce_needs.check_machine([huge], tmp_path, cpu=True)


def test_a_gpu_that_is_too_small_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (4 * 10**9, 8 * 10**9))
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "Small")
    needs = reproduce_needs.needs_of(reproduce.load_config(CONFIGS[0]))
    with pytest.raises(UserError, match=r"GPU memory are needed, 4\.0 GB are free; lower `slots`"):
        reproduce_needs.check_machine([needs], tmp_path, cpu=False)


def test_other_experiments_and_unknown_sizes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(SMALL.format(name="gpt-neo-125m", path="someone/else", trials=1))
    assert reproduce.main(["--dry-run", str(path)]) == 2
    assert "its size is not known" in capsys.readouterr().err


def test_the_script_passes_everything_on() -> None:
    done = subprocess.run(["bash", "-n", "scripts/reproduce_tables.sh"], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if not list((REPOSITORY / ".venv").glob("set-up-*")):
        pytest.skip("scripts/setup.sh has not been run here")
    done = subprocess.run(
        ["scripts/reproduce_tables.sh", "--dry-run", "--out", "runs/x"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0 and "into runs/x" in done.stdout and done.stdout.count("86400") == 3, done.stderr


@pytest.mark.slow
def test_end_to_end_with_stand_ins(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.report.commands.find_spec", lambda _: None)  # figures have tests of their own
    out, configs = tmp_path / "out", []
    for seed, (name, trials) in enumerate((("gpt-neo-125m", 2), ("gpt-neo-1.3B", 35), ("gpt-neo-2.7B", 2))):
        model = tiny_gpt_neo(tmp_path / name, shared_data / "gpt2_tokenizer", seed)
        configs.append(tmp_path / f"{name}.yaml")
        configs[-1].write_text(SMALL.format(name=name, path=model, trials=trials))
    command = ["--cpu", "--out", str(out), *map(str, configs)]
    assert reproduce.main(command) == 0
    text = capsys.readouterr().out
    assert text.count("published values lie within our 95% interval") == 3 + 2 * 3 + 2  # once per stage
    like = json.loads((out / "gpt-neo-1.3B.like_for_like.json").read_text())
    assert {cell["ours"][1] for cell in like[0]["comparisons"][0]["cells"]} == {33}
    everything = json.loads((out / "gpt-neo-1.3B.all_trials.json").read_text())
    assert {cell["ours"][1] for cell in everything[0]["comparisons"][0]["cells"]} == {35}
    assert all((out / name / "report" / "report.html").is_file() for name in ("gpt-neo-125m", "gpt-neo-2.7B"))
    before = {path: path.read_bytes() for path in out.glob("*/samples/*.jsonl")}
    assert reproduce.main(command) == 0  # resumed: nothing left to do
    assert {path: path.read_bytes() for path in before} == before
