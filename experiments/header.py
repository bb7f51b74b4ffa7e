"""Fills the header of a run, and decides whether a folder may be resumed with a configuration.

A run may grow (more models, shots, trials, ...), never mix: any other change is refused with the keys that differ.
Knows nothing of samples.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.base import Experiment, Source
from toolkit.errors import UserError

PACKAGES = ("heldout-toolkit", "torch", "transformers", "tokenizers", "accelerate", "numpy", "pydantic")
ABSENT = "(absent)"


def session() -> dict[str, Any]:
    """One start of a run: when, by which command, with which code and packages, on which kind of machine."""
    commit, dirty = revision()
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "commit": commit,
        "dirty": dirty,
        "packages": {name: _version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def revision() -> tuple[str | None, bool | None]:
    """(commit, whether tracked files differ from it) of the toolkit's own checkout; (None, None) outside of one."""
    root = Path(__file__).resolve().parent.parent
    try:
        top = _git(root, "rev-parse", "--show-toplevel")
        if Path(top).resolve() != root:
            return None, None
        return _git(root, "rev-parse", "HEAD"), bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def new_header(experiment: Experiment, source: Source) -> dict[str, Any]:
    """The header of a run that has not answered anything yet."""
    return {
        "experiment": source.name,
        "config": {"path": str(source.path), "typed": dict(source.typed), "resolved": experiment.resolved},
        "planned": sum(1 for _ in experiment.items()),
        "models": {},
        "sessions": [session()],
        **experiment.header(),
    }


def resumed_header(old: Mapping[str, Any], experiment: Experiment, source: Source, folder: Path) -> dict[str, Any]:
    """The header for going on in a folder; UserError with the differing keys when that would mix results."""
    before = old["config"]["resolved"]
    if differing := list(conflicts(before, experiment.resolved, experiment.growing, experiment.free)):
        shown = "; ".join(f"{key}: {_short(was)} -> {_short(now)}" for key, was, now in differing[:6])
        raise UserError(
            f"this run was made with another configuration ({shown})",
            str(folder),
            "choose another --out, or set these keys back",
        )
    header = new_header(experiment, source)
    return header | {"models": old["models"], "sessions": [*old["sessions"], *header["sessions"]]}


def conflicts(
    old: Any, new: Any, growing: tuple[str, ...], free: tuple[str, ...], key: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """(key, old, new) of every difference that is neither growth nor in a free key."""
    if any(fnmatchcase(key, pattern) for pattern in free) or old == new:
        return
    if key in growing and isinstance(old, int) and isinstance(new, int) and new >= old:
        return
    if isinstance(old, list) and isinstance(new, list) and key in growing:
        old, new = _by_name(old), _by_name(new)
        new = {name: value for name, value in new.items() if name in old}
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            place = f"{key}.{name}" if key else name
            yield from conflicts(old.get(name, ABSENT), new.get(name, ABSENT), growing, free, place)
        return
    yield key, old, new


def _by_name(values: list[Any]) -> dict[str, Any]:
    return {str(value["name"] if isinstance(value, dict) else value): value for value in values}


def check_models(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on with other weights or another tokenizer under the same name."""
    for name, description in new.items():
        for key in ("weights_sha256", "tokenizer_sha256", "dtype"):
            was, now = old.get(name, {}).get(key), description.get(key)
            if was is not None and was != now:
                raise UserError(
                    f"the model {name} is not the one that this run began with ({key}: {_short(was)} -> {_short(now)})",
                    str(folder),
                    "restore the model, or choose another --out",
                )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
