from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from toolkit.models.cache import cache_folder
from toolkit.models.spec import ModelSpec


def test_a_spec_needs_only_name_and_path() -> None:
    spec = ModelSpec(name="GPT-Neo-125M", path="EleutherAI/gpt-neo-125m")
    assert (spec.dtype, spec.device, spec.revision, spec.gguf_file, spec.bundled) == (
        "float32",
        "auto",
        None,
        None,
        None,
    )
    assert ModelSpec(name="s", path="bundled:smollm2-135m-instruct").bundled == "smollm2-135m-instruct"


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "int8"},
        {"device": "gpu"},
        {"device": "cuda:"},
        {"name": ""},
        {"path": ""},
        {"revison": "main"},
        {"device": "cpu", "device_map": "auto"},
    ],
)
def test_wrong_values_and_unknown_keys_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ModelSpec.model_validate({"name": "m", "path": "p"} | wrong)


def test_a_spec_is_read_without_torch() -> None:
    code = "import sys, toolkit.models.spec; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("HELDOUT_CACHE", raising=False)
    assert cache_folder().as_posix() == "/x/heldout-toolkit"
    monkeypatch.setenv("HELDOUT_CACHE", "/own")
    assert cache_folder().as_posix() == "/own"
