"""Recomputes every view of a run from its samples and stops at the first difference, which it names.

Hashes of prefixes are derived anew from their content. Figures must have the recorded hashes and must have been drawn
from this very summary; on the kind of machine that drew them they are drawn again and compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments import base, records
from experiments.report import build, parquet
from toolkit.errors import RunError, UserError

Json = Mapping[str, Any]


def verify(run: Path) -> list[str]:
    """Check a run; returns one line per thing that was checked. RunError names the first difference."""
    records.read_header(run)
    checks: list[Callable[[build.Reading], str]] = [_prefixes, _verdicts, _summary, _tables, _parquet, _figures, _page]
    try:
        reading = build.read(run)
        return [check(reading) for check in checks]
    except UserError as damage:
        raise RunError(f"verify failed: {damage}") from damage


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"verify failed: {path} cannot be read ({error}); run `toolkit report` again") from error


def _prefixes(reading: build.Reading) -> str:
    """Every prefix that a sample names is stored, and its content has that hash (checked by the reader)."""
    stored = records.read_prefixes(reading.folder)
    if missing := sorted(reading.tally.prefixes - stored.keys()):
        raise RunError(f"verify failed: prefixes.jsonl: prefix {missing[0]} is used by samples but not stored")
    return f"{len(reading.tally.prefixes)} prefixes: hashes derived again from their content"


def _verdicts(reading: build.Reading) -> str:
    """Every sample's scores, answer and outcome are what its own experiment makes of the record."""
    config = reading.header.get("config", {})
    try:
        experiment = base.make(config.get("typed", {}), Path(config.get("path", "")))
        if experiment.header().get("suite") != reading.header.get("suite"):
            raise UserError("the suite is not the one that this run was made with")
    except UserError as reason:
        return f"verdicts: not judged again ({reason})"
    for sample in records.read_samples(reading.folder):
        stored = json.loads(records.dump(sample))
        for judged in experiment.score([sample], None):
            for place, found, wanted in differences(stored, judged):
                raise RunError(f"verify failed: {judged['id']}: {place} is {found}, judged again it is {wanted}")
    return f"verdicts: {reading.tally.samples} samples judged again"


def _summary(reading: build.Reading) -> str:
    """summary.json equals what the samples give."""
    path = reading.folder / build.SUMMARY
    text = _text(path)
    if text == build.summary_text(reading.summary):
        return f"{build.SUMMARY}: {reading.tally.samples} samples counted again"
    try:
        stored = json.loads(text)
    except ValueError as error:
        raise RunError(f"verify failed: {build.SUMMARY} is not JSON ({error})") from error
    expected = json.loads(build.summary_text(reading.summary))
    for place, found, wanted in differences(stored, expected):
        raise RunError(f"verify failed: {build.SUMMARY}: {place} is {found}, the samples give {wanted}")
    raise RunError(f"verify failed: {build.SUMMARY} holds the right numbers in another layout")


def differences(found: Any, wanted: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """(place, found, wanted) of each leaf that differs; cells and matrices are named by what they are."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            yield from differences(found.get(key), wanted.get(key), f"{place} {key}".strip())
    elif isinstance(found, list) and isinstance(wanted, list):
        for number, (one, other) in enumerate(zip_longest(found, wanted)):
            yield from differences(one, other, f"{place} {_name(other, number)}".strip())
    elif found != wanted:
        yield place, json.dumps(found), json.dumps(wanted)


def _name(item: Any, number: int) -> str:
    """What identifies an element of a list: its model, variant, skill and shots, or its place."""
    if isinstance(item, dict):
        parts = [str(item[key]) for key in ("model", "variant", "skill", "asked") if key in item]
        parts += [f"N{item['shots']}"] if "shots" in item else []
        if parts:
            return "[" + "/".join(parts) + "]"
    return f"[{number}]"


def _tables(reading: build.Reading) -> str:
    """The three tables equal what the samples give, line by line."""
    for name, table in build.TABLES.items():
        _same_lines(name, _text(reading.folder / name), table(reading.summary))
    return f"{', '.join(name.rsplit('/', 1)[-1] for name in build.TABLES)}: equal"


def _same_lines(name: str, found: str, wanted: str) -> None:
    if found == wanted:
        return
    for number, (one, other) in enumerate(zip_longest(found.split("\n"), wanted.split("\n")), 1):
        if one != other:
            before, after = _around(one or "", other or "")
            raise RunError(f"verify failed: {name} line {number}: found {before!r}, the samples give {after!r}")


def _around(found: str, wanted: str, reach: int = 60) -> tuple[str, str]:
    """The part of two lines around their first difference, so that a message stays short."""
    place = next(
        (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b), min(len(found), len(wanted))
    )
    start = max(0, place - reach)
    return found[start : place + reach], wanted[start : place + reach]


def _parquet(reading: build.Reading) -> str:
    """samples.parquet holds the same rows as the JSON lines."""
    path = reading.folder / build.PARQUET
    try:
        problem = parquet.first_difference(path, records.read_samples(reading.folder), reading.tally.scorers)
    except (OSError, ValueError) as error:
        problem = f"it cannot be read ({error})"
    if problem:
        raise RunError(f"verify failed: {build.PARQUET}: {problem}")
    return f"{build.PARQUET}: every row equal"


def _figures_record(folder: Path) -> Json:
    """figures.json, checked for its shape."""
    try:
        drawn = json.loads(_text(folder / build.FIGURES))
        hashes, names = dict(drawn["sha256"]), list(drawn["names"])
        return {"sha256": hashes, "names": names, "by": drawn["drawn_by"], "summary": drawn["summary_sha256"]}
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"verify failed: {build.FIGURES} is damaged ({error!r})") from error


def _figures(reading: build.Reading) -> str:
    """The figures are those of this summary and their bytes are as recorded, or as drawn again."""
    folder, drawn = reading.folder / build.PLOTS, _figures_record(reading.folder)
    summary = build.summary_text(reading.summary).encode("utf-8", "surrogatepass")
    if drawn["summary"] != hashlib.sha256(summary).hexdigest():
        raise RunError(f"verify failed: {build.FIGURES}: the figures were drawn from another summary")
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*")}
    for name in sorted(found.keys() | drawn["sha256"].keys()):
        if found.get(name) != drawn["sha256"].get(name):
            raise RunError(f"verify failed: {build.PLOTS}/{name} is not the file that was drawn")
    expected = {f"{name}.{kind}" for name in drawn["names"] for kind in ("svg", "png")}
    if expected != found.keys():
        raise RunError(f"verify failed: {build.FIGURES}: its names are not those of the figures")
    if not drawn["by"] or not find_spec("matplotlib"):
        return f"{len(found)} figure files: hashes equal"
    return _drawn_again(reading, drawn, found)


def _drawn_again(reading: build.Reading, drawn: Json, found: Mapping[str, str]) -> str:
    from experiments.report import plots

    if plots.names(reading.summary) != drawn["names"]:
        raise RunError(f"verify failed: {build.FIGURES}: its names are not those of the figures")
    if drawn["by"] != plots.environment():
        return f"{len(found)} figure files: hashes equal (drawn by {drawn['by']}, so not drawn again here)"
    with TemporaryDirectory() as temporary:
        plots.draw_all(reading.summary, Path(temporary))
        for path in sorted(Path(temporary).iterdir()):
            if hashlib.sha256(path.read_bytes()).hexdigest() != found[path.name]:
                raise RunError(f"verify failed: {build.PLOTS}/{path.name} differs from the figure drawn again")
    return f"{len(found)} figure files: drawn again, equal"


def _page(reading: build.Reading) -> str:
    """report.html equals the page made again from the samples and the checked figures."""
    names = _figures_record(reading.folder)["names"]
    wanted = build.page_text(reading, build.svg_sources(reading.folder, names))
    _same_lines(build.PAGE, _text(reading.folder / build.PAGE), wanted)
    return f"{build.PAGE.rsplit('/', 1)[-1]}: made again, equal"
