"""Recomputes every view of a run from its samples and stops at the first difference, which it names.

Hashes of prefixes are derived anew from their content. Figures must have the recorded hashes and must have been drawn
from this very summary; on the kind of machine that drew them they are drawn again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments import base, records
from experiments.report import build, extra, page, parquet
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
    """The tables equal what the samples give, line by line."""
    wanted = {name: table(reading.summary) for name, table in build.TABLES.items()} | extra.texts(reading.extra)
    for name, text in wanted.items():
        _same_lines(name, _text(reading.folder / name), text)
    return f"{', '.join(name.rsplit('/', 1)[-1] for name in wanted)}: equal"


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


def _made(folder: Path) -> Json:
    """made.json, checked for its shape."""
    try:
        text = _text(folder / build.MADE)
        made = json.loads(text)
        if text != build.made_text(made):
            raise ValueError("it does not have its own hash")
        figures, page_made = made["figures"], made["page"]
        return {
            "summary": made["summary"],
            "names": list(figures["names"]),
            "hashes": dict(figures["sha256"]),
            "by": figures["drawn_by"],
            "page": page_made["sha256"],
            "code": page_made["code"],
        }
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"verify failed: {build.MADE} is damaged ({error!r})") from error


def _figures(reading: build.Reading) -> str:
    """The figures are those of this summary and their bytes are as recorded, or as drawn again."""
    folder, made = reading.folder / build.PLOTS, _made(reading.folder)
    if made["summary"] != build.digest(build.summary_text(reading.summary).encode()):
        raise RunError(f"verify failed: {build.MADE}: figures and page were made from another summary")
    found = {path.name: build.digest(path.read_bytes()) for path in folder.glob("*")}
    for name in sorted(found.keys() | made["hashes"].keys()):
        if found.get(name) != made["hashes"].get(name):
            raise RunError(f"verify failed: {build.PLOTS}/{name} is not the file that was drawn")
    if {f"{name}.{kind}" for name in made["names"] for kind in ("svg", "png")} != found.keys():
        raise RunError(f"verify failed: {build.MADE}: its names are not those of the figures")
    if not made["by"] or not find_spec("matplotlib"):
        return f"{len(found)} figure files: hashes equal"
    return _drawn_again(reading, made, found)


def _drawn_again(reading: build.Reading, made: Json, found: Mapping[str, str]) -> str:
    from experiments.report import plots

    if made["by"] != plots.environment():
        return f"{len(found)} figure files: hashes equal (drawn by {made['by']}, so not drawn again here)"
    if plots.names(reading.summary) != made["names"]:
        raise RunError(f"verify failed: {build.MADE}: its names are not those of the figures")
    with TemporaryDirectory() as temporary:
        plots.draw_all(reading.summary, Path(temporary))
        for path in sorted(Path(temporary).iterdir()):
            if build.digest(path.read_bytes()) != found.get(path.name):
                raise RunError(f"verify failed: {build.PLOTS}/{path.name} differs from the figure drawn again")
    return f"{len(found)} figure files: drawn again, equal"


def _page(reading: build.Reading) -> str:
    """report.html equals the page made again; one of another version of the toolkit has its recorded hash."""
    made, found = _made(reading.folder), _text(reading.folder / build.PAGE)
    if made["code"] == build.code_digest(page.sources()):
        wanted = build.page_text(reading, build.svg_sources(reading.folder, made["names"]))
        _same_lines(build.PAGE, found, wanted)
    if build.digest(found.encode()) != made["page"]:
        raise RunError(f"verify failed: {build.PAGE} is not the file that was written")
    if made["code"] != build.code_digest(page.sources()):
        return "report.html: hash equal (another version of the toolkit made it, so it is not made again here)"
    return "report.html: made again, equal"
