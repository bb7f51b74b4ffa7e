"""Finds RestBench's four files and reads their instructions. The files are a third party's and stay outside this
repository: they come from `--data`, from `RESTBENCH_DIR`, or once over the network at a pinned commit, and every
byte is checked. This file knows nothing about gold paths, worlds or judging.
"""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolkit.errors import UserError

Scenario = Literal["tmdb", "spotify"]
SCENARIOS: tuple[Scenario, ...] = ("tmdb", "spotify")

COMMIT = "d99012860cb45323975bf5780152d7aa44f390f5"
SOURCE = f"https://raw.githubusercontent.com/Yifan-Song793/RestGPT/{COMMIT}"
# file name -> (folder in the source repository, SHA-256 of the file at COMMIT)
FILES = {
    "tmdb.json": ("datasets", "6a9686067683ec6c33221de05bd2e763cfbfedf2cac6f4e6b607d7ab80a858d4"),
    "spotify.json": ("datasets", "b6ba57cc6f29adf352c6a1ceeb4434d6fd508eedfe514afb2d79b6a282f8efc0"),
    "tmdb_oas.json": ("specs", "6e5a3c4ebdf2e3deeada3331ad65c7b802b0aeb58c6167704db700be49b00017"),
    "spotify_oas.json": ("specs", "7cfaf223ea373d8aa7429e6d62d9085b4678617556865cf23496ab2c4bf44c54"),
}
_TIMEOUT_SECONDS = 60.0
_MAX_BYTES = 8 << 20


@dataclass(frozen=True)
class Instruction:
    """One line of RestBench: its 0-based position, the question and the published gold path, all unchanged."""

    index: int
    query: str
    solution: tuple[str, ...]


def cache_folder() -> Path:
    """The user's cache folder for downloaded RestBench files; it need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "heldout-toolkit" / "restbench"


def locate(folder: Path | None = None) -> Path:
    """Return a folder that holds the four files, each with the right SHA-256.

    `folder` (the `--data` option) wins over `RESTBENCH_DIR`; with neither, the files are downloaded into the
    user's cache. Raises UserError naming the file that is missing or differs.
    """
    named = folder or (Path(os.environ["RESTBENCH_DIR"]) if os.environ.get("RESTBENCH_DIR") else None)
    if named is None:
        named = cache_folder()
        for name in FILES:
            if not (named / name).is_file():
                _download(name, named)
    for name in FILES:
        _check(named / name)
    return named


def instructions(folder: Path, scenario: Scenario) -> list[Instruction]:
    """Read the instructions of one scenario (100 for tmdb, 57 for spotify), exactly as published."""
    entries = json.loads((folder / f"{scenario}.json").read_text(encoding="utf-8"))
    return [Instruction(i, entry["query"], tuple(entry["solution"])) for i, entry in enumerate(entries)]


def spec_file(folder: Path, scenario: Scenario) -> Path:
    """The scenario's OpenAPI description as published (repairs are the loader's business)."""
    return folder / f"{scenario}_oas.json"


def _check(path: Path) -> None:
    if not path.is_file():
        raise UserError(
            f"RestBench file {path.name} is missing", str(path.parent), "name a folder that holds " + ", ".join(FILES)
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != FILES[path.name][1]:
        raise UserError(
            f"RestBench file {path.name} differs from the published one", str(path), f"take it from commit {COMMIT}"
        )


def _download(name: str, folder: Path) -> None:
    url = f"{SOURCE}/{FILES[name][0]}/{name}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as reply:
            content = reply.read(_MAX_BYTES)
    except (urllib.error.URLError, TimeoutError) as error:
        fix = "download the four files by hand and pass their folder with --data or RESTBENCH_DIR"
        raise UserError(f"cannot download RestBench: {error}", url, fix) from error
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{name}.part{os.getpid()}"
    partial.write_bytes(content)
    partial.replace(folder / name)
