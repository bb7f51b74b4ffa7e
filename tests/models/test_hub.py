"""The hub without a hub: its cache laid out by hand, its answers made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
from tiny import tiny_folder, tiny_model

from toolkit.errors import UserError
from toolkit.models.describe import describe
from toolkit.models.load import ModelSpec, load

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SPEC = ModelSpec(name="tiny", path="someone/tiny", device="cpu")


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache with one model at one commit, and no way to the hub."""
    repository = tmp_path / "models--someone--tiny"
    tiny_folder(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, result: Any) -> list[dict[str, Any]]:
    """Make the hub answer `result`, or raise it; returns the list of what it is asked."""
    asked: list[dict[str, Any]] = []

    def model_info(self: HfApi, repo_id: str, **keys: Any) -> Any:
        asked.append({"id": repo_id, **keys})
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(HfApi, "model_info", model_info)
    return asked


def test_without_a_network_the_hubs_cache_serves(hub_cache: Path) -> None:
    model, tokenizer = load(SPEC)
    ids = torch.tensor([tokenizer.encode("<Guest> What?")])
    assert torch.equal(model(ids).logits, tiny_model("llama")(ids).logits)
    assert describe(model, tokenizer, SPEC)["commit"] == COMMIT


def test_a_revision_that_the_cache_lacks_cannot_be_had(hub_cache: Path) -> None:
    for revision in ("v2", "f" * 40):
        with pytest.raises(UserError, match="someone/tiny: this model could not be had"):
            load(SPEC.model_copy(update={"revision": revision}))


def test_the_commit_that_the_hub_names_is_loaded_and_remembered(
    hub_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hub_cache / "models--someone--tiny" / "refs" / "main").unlink()
    asked = answer(monkeypatch, SimpleNamespace(sha=COMMIT))
    model, tokenizer = load(SPEC.model_copy(update={"revision": "main"}))
    assert {question["revision"] for question in asked} == {"main"}
    assert describe(model, tokenizer, SPEC)["commit"] == COMMIT
    assert (hub_cache / "models--someone--tiny" / "refs" / "main").read_text() == COMMIT


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (RepositoryNotFoundError, "neither a folder here nor a model on the hub"),
        (RevisionNotFoundError, "no revision 'v9'"),
        (GatedRepoError, "asks for a licence"),
    ],
)
def test_the_hubs_refusals_are_one_line_each(kind: type[Exception], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    response = httpx2.Response(404, request=httpx2.Request("GET", "http://localhost/"))
    answer(monkeypatch, kind("the hub's own long text", response=response))  # type: ignore[call-arg]
    with pytest.raises(UserError, match=says):
        load(SPEC.model_copy(update={"revision": "v9"}))
