from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import tiny_folder, tiny_model, tiny_tokenizer
from transformers.utils import logging

from toolkit.errors import UserError
from toolkit.models import load as load_module
from toolkit.models.load import ModelSpec, load


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("llama"), "llama")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def spec(path: Path | str, **keys: Any) -> ModelSpec:
    return ModelSpec(name="tiny", path=str(path), **({"device": "cpu"} | keys))


def test_a_local_folder_gives_the_saved_model_ready_to_decode(llama: Path) -> None:
    model, tokenizer = load(spec(llama))
    ids = torch.tensor([tokenizer.encode("<Guest> What is 5 * 3?")])
    assert ids[0].tolist() == tiny_tokenizer().encode("<Guest> What is 5 * 3?")
    assert torch.equal(model(ids).logits, tiny_model("llama")(ids).logits)
    assert not model.training and not any(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(("dtype", "expected"), [("bfloat16", torch.bfloat16), ("auto", torch.float32)])
def test_dtype_is_the_specs(llama: Path, dtype: str, expected: torch.dtype) -> None:
    model, _ = load(spec(llama, dtype=dtype))
    assert {parameter.dtype for parameter in model.parameters()} == {expected}


def test_a_gpt_neo_folder_with_bare_vocabulary_files_loads(tmp_path: Path, shared_data: Path) -> None:
    tiny_model("gpt_neo", vocab=50257).save_pretrained(tmp_path)
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(shared_data / "gpt2_tokenizer" / name, tmp_path / name)
    _, tokenizer = load(spec(tmp_path))
    assert tokenizer.encode("What is 123 + 456?") == [2061, 318, 17031, 1343, 604, 3980, 30]


def test_loading_prints_nothing_and_leaves_the_librarys_settings(
    llama: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load(spec(llama))
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def broken(folder: Path, llama: Path, how: str) -> Path:
    shutil.copytree(llama, folder, dirs_exist_ok=True)
    weights = folder / "model.safetensors"
    match how:
        case "no weights":
            weights.unlink()
        case "no configuration":
            (folder / "config.json").unlink()
        case "damaged configuration":
            (folder / "config.json").write_text("{")
        case "own code":
            text = json.loads((folder / "config.json").read_text())
            text |= {"model_type": "elsewhere", "auto_map": {"AutoConfig": "its_own.Config"}}
            (folder / "config.json").write_text(json.dumps(text))
        case "truncated weights":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "a weight missing":
            kept = load_file(weights)
            del kept["model.layers.1.mlp.up_proj.weight"]
            save_file(kept, weights, metadata={"format": "pt"})
        case "no tokenizer":
            for name in ("tokenizer.json", "tokenizer_config.json"):
                (folder / name).unlink()
    return folder


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("no weights", "no weights"),
        ("no configuration", "no config.json"),
        ("damaged configuration", "not a valid JSON file"),
        ("own code", "contains custom code"),
        ("truncated weights", "the weights of this model cannot be loaded"),
        ("a weight missing", "lacks 1 of the model's weights"),
        ("no tokenizer", "the tokenizer of this model cannot be loaded"),
    ],
)
def test_a_broken_folder_is_one_line_that_names_it(tmp_path: Path, llama: Path, how: str, says: str) -> None:
    folder = broken(tmp_path, llama, how)
    with pytest.raises(UserError, match=says) as caught:
        load(spec(folder))
    assert str(caught.value).startswith(str(folder)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"path": "no/such/model/folder"}, "no such model folder"),
        ({"path": "not a hub id!"}, "neither a folder here nor a model on the hub"),
        ({"path": "EleutherAI/gpt-neo-125m"}, "could not be had.*local folder or to bundled:"),
        ({"path": "bundled:gpt-5"}, "no model named 'gpt-5' is bundled"),
        ({"gguf_file": "absent.gguf"}, "no GGUF file 'absent.gguf'.*it has none"),
        ({"gguf_file": "config.json"}, "GGUF"),
    ],
)
def test_a_model_that_cannot_be_had_is_one_line(
    llama: Path, keys: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=says):
        load(spec(**({"path": llama} | keys)))  # type: ignore[arg-type]


def test_a_file_that_is_no_gguf_is_one_line(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no model"):
        load(spec(llama / "model.safetensors"))
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF?")
    with pytest.raises(UserError, match="the tokenizer of this model cannot be loaded"):
        load(spec(tmp_path / "damaged.gguf"))


@pytest.mark.parametrize("device", ["cuda", "cuda:63", "mps"])
def test_an_absent_device_is_one_line(llama: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match=f"{device}.*is not there"):
        load(spec(llama, device=device))


def test_too_little_memory_is_one_line(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(load_module, "_read_weights", full)
    with pytest.raises(UserError, match="does not fit the memory"):
        load(spec(llama))
