"""The record of a run: what its folder holds, how it is written so that a crash loses seconds, how it is read.

This is the one file that documents the format. It knows nothing of what an experiment asks or how it is scored.

    run.json          the header, replaced atomically; see `experiments/header.py` for who fills it:
                      {"format": 1, "experiment", "config": {"path", "typed", "resolved"}, "report": {"title", "axes",
                      "models", "variants", "skills", "deviations"}, "suite", "planned", "models": {name: description},
                      "sessions": [{"started", "command", "commit", "dirty", "packages", "python", "platform"}]}
    samples/*.jsonl   append-only, one `Sample` a line with sorted keys; a batch is written at once and synced
                      (an archived run, such as a committed one, has them gzipped and is not written to any more)
    prefixes.jsonl    each example once: {"digest", "segments": [[kind, text], ...]}, and each fragment as the list of
                      its examples: {"digest", "parts": [digest, ...]}; `Fragment.digest` is the key
    timings/*.jsonl   facts about time by sample id, kept apart so that samples are the same bytes in every run
    shards/k-of-P/    what process k of P made in a run by several processes: a run folder of its own, with one writer;
                      process 0 merges them into the above at the end, or at the next start after a crash
    .lock             held while a process writes; the system lets go of it when the process dies
    samples.parquet, summary.json, report/    views, recomputed from the above by `toolkit report`

A last line without its newline is what a crash leaves: readers skip it, the next run cuts it off and asks again. Any
other damage is an error that names file and line.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict, cast

from experiments.shapes import fault
from experiments.storage import Appender, Lock, make_folder, read_lines, write_atomic
from toolkit.errors import UserError
from toolkit.plugins.fragment import Fragment, Segment, join

FORMAT = 1
ADOPTED_AT_ONCE = 5000  # samples of a shard that are in memory together while it is merged
HEADER, PREFIXES, SAMPLES, TIMINGS, SHARDS = "run.json", "prefixes.jsonl", "samples", "timings", "shards"


class CallEntry(TypedDict):
    """One intercepted call. `start`, `end`: bytes of `[NAME(arguments)` within the UTF-8 `text` of the sample.

    `status` is ok, error, timeout, refused or unknown; `result` the tool's text, or why there is none.
    """

    name: str
    arguments: str
    status: str
    result: str
    start: int
    end: int


class Sample(TypedDict, total=False):
    """One question and everything needed to score it again. All keys are there unless marked optional.

    `id` is `model/variant/N<shots>/skill/t<trial>`. `variant` is protocol and syntax, or the adapter in tuning. `order`
    numbers the shot order among those drawn for this N. `prefix` is the digest of the fragment before `prompt`.
    `held_out`: the skill's own example is not in the fragment. `ids` are the reply's token ids, `source` who wrote them
    in run lengths (`M12T5M7`: 12 by the model, 5 injected, 7 by the model). `text` is the visible reply. `scores` maps
    scorer to verdict, None where it gives none; `answer` is what the variant's own scorer read, None when nothing.
    `outcome` is one of `experiments.operators.scoring.OUTCOMES`; `called` (optional) the skill that a call used.
    `unlike_eval` (optional, `paper`): arguments on which the original's evaluator might differ (fault F7).
    """

    id: str
    model: str
    variant: str
    shots: int
    skill: str
    trial: int
    order: int
    seed: int
    prefix: str
    held_out: bool
    question: str
    prompt: str
    truth: str
    expect: dict[str, Any]
    ids: list[int]
    source: str
    text: str
    calls: list[CallEntry]
    finish: str
    scores: dict[str, bool | None]
    answer: str | None
    outcome: str
    called: str | None
    unlike_eval: list[str]


SAMPLE: dict[str, Any] = {
    **dict.fromkeys(("id", "model", "variant", "skill", "prefix", "question", "prompt", "truth", "text"), str),
    **dict.fromkeys(("source", "finish", "outcome"), str),
    **dict.fromkeys(("shots", "trial", "order", "seed"), int),
    "held_out": bool,
    "expect": dict,
    "ids": [int],
    "calls": [{"name": str, "arguments": str, "status": str, "result": str, "start": int, "end": int}],
    "scores": dict,
    "answer": (str, type(None)),
}
TIMING: dict[str, Any] = {"id": str, "seconds": (float, int, type(None))}
SOURCE_RUN = re.compile(r"[MT][0-9]{1,9}")
HEADER_SHAPE: dict[str, Any] = {
    "experiment": str,
    "config": {"path": str, "typed": dict, "resolved": dict},
    "report": {"title": str, "axes": {"rows": str, "columns": str}, "models": [str], "skills": [str]},
    "planned": int,
    "models": dict,
    "sessions": [{"commit": (str, type(None)), "dirty": (bool, type(None))}],
}


def encode_source(source: Iterable[int]) -> str:
    """A source mask (1 model, 0 injected) as run lengths: `[1, 1, 0]` -> `M2T1`."""
    runs: list[tuple[str, int]] = []
    for bit in source:
        mark = "M" if bit else "T"
        if runs and runs[-1][0] == mark:
            runs[-1] = (mark, runs[-1][1] + 1)
        else:
            runs.append((mark, 1))
    return "".join(f"{mark}{length}" for mark, length in runs)


def decode_source(text: str) -> list[int]:
    """The mask that `encode_source` wrote."""
    mask: list[int] = []
    for run in text.replace("M", " M").replace("T", " T").split():
        mask += [int(run[0] == "M")] * int(run[1:])
    return mask


def dump(record: Mapping[str, Any]) -> str:
    """A record as its one line: sorted keys, no spare spaces, non-ASCII text as it is, lone surrogates escaped."""
    line = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    try:
        line.encode()
    except UnicodeEncodeError:
        line = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return line + "\n"


def read_header(folder: Path) -> dict[str, Any]:
    """The header of a run folder."""
    path = folder / HEADER
    if not path.is_file():
        raise UserError("this is not a run folder: it has no run.json", str(folder), "give what `toolkit run` wrote")
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(f"the header cannot be read: {error}", str(path), "restore the file") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise UserError(f"format {found!r} is not {FORMAT}", str(path), "read it with the version that wrote it")
    if wrong := fault(header, HEADER_SHAPE) or (None if header["sessions"] else "sessions is empty"):
        raise UserError(f"damaged header: {wrong}", str(path), "restore the file")
    return header


def write_header(folder: Path, header: Mapping[str, Any]) -> None:
    """Replace the header atomically."""
    text = json.dumps({**header, "format": FORMAT}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomic(folder / HEADER, text)


def sample_files(folder: Path) -> list[Path]:
    """The sample files of a run in a fixed order; those of an archived run are gzipped."""
    return _lines_files(folder / SAMPLES)


def _lines_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.jsonl*") if path.suffix in (".jsonl", ".gz"))


def shard_folder(folder: Path, rank: int, size: int) -> Path:
    """Where process `rank` of `size` writes."""
    return folder / SHARDS / f"{rank}-of-{size}"


def shard_folders(folder: Path) -> list[Path]:
    """Shards that are not merged yet."""
    return sorted(path for path in (folder / SHARDS).glob("*-of-*") if path.is_dir())


def read_samples(folder: Path) -> Iterator[Sample]:
    """All samples, file by file; a torn last line is left out, any other damage and a repeated id is an error."""
    seen: set[str] = set()
    for path in sample_files(folder):
        for number, sample in enumerate(read_sample_file(path), 1):
            if sample["id"] in seen:
                raise UserError(f"the sample {sample['id']} is there twice", f"{path}:{number}", "remove one line")
            seen.add(sample["id"])
            yield sample


def read_sample_file(path: Path) -> Iterator[Sample]:
    """The samples of one file, each checked."""
    for number, record in read_lines(path):
        if wrong := fault(record, SAMPLE) or _miscounted(record):
            raise UserError(f"damaged sample: {wrong}", f"{path}:{number}", "restore the line, or remove it")
        yield cast(Sample, record)


def _miscounted(record: Mapping[str, Any]) -> str | None:
    """What is wrong with the source mask, judged without unpacking it."""
    runs = SOURCE_RUN.findall(record["source"])
    if "".join(runs) == record["source"] and sum(int(run[1:]) for run in runs) == len(record["ids"]):
        return None
    return "source is not the mask of its ids"


def read_timings(folder: Path) -> Iterator[dict[str, Any]]:
    """All timing facts; each has `id`, and `seconds` where something was timed."""
    for path in _lines_files(folder / TIMINGS):
        for number, record in read_lines(path):
            if wrong := fault({"seconds": None, **record}, TIMING):
                raise UserError(f"damaged timing: {wrong}", f"{path}:{number}", "restore the line, or remove it")
            yield record


def read_prefixes(folder: Path) -> dict[str, Fragment]:
    """Fragments and their examples by digest; the empty one needs no entry, a digest of other content is an error."""
    path = folder / PREFIXES
    found: dict[str, Fragment] = {Fragment().digest: Fragment()}
    for number, record in read_lines(path) if path.exists() else ():
        try:
            if "parts" in record:
                fragment = join(found[part] for part in record["parts"])
            else:
                fragment = Fragment(tuple(Segment(kind, text) for kind, text in record["segments"]))
            digest, actual = record["digest"], fragment.digest
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"not a prefix entry ({error!r})", f"{path}:{number}", "restore the line") from error
        if actual != digest:
            raise UserError("the content does not match its digest", f"{path}:{number}", "restore the line")
        found[digest] = fragment
    return found


class RunWriter:
    """Writes one run folder; a context manager that holds the folder's lock.

    `done` holds the ids of the samples that are there, `prefixes` the digests of fragments. Torn last lines are cut off
    on entry. Every write error is fatal and leaves the file as it was before it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)
        self._lock = Lock(folder / ".lock")
        self._files: dict[Path, Appender] = {}
        self.prefixes: set[str] = set()
        self.done: set[str] = set()

    def __enter__(self) -> RunWriter:
        self._lock.acquire()
        try:
            for name in (SAMPLES, TIMINGS):
                make_folder(self.folder / name)
            for path in [*sample_files(self.folder), *_lines_files(self.folder / TIMINGS), self.folder / PREFIXES]:
                if path.suffix == ".gz":
                    raise UserError(
                        "this run is archived", str(path), "run `gunzip` on its files, or choose another --out"
                    )
                if path.exists():
                    self._appender(path)
            self.done = {sample["id"] for sample in read_samples(self.folder)}
            self.prefixes = set(read_prefixes(self.folder))
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for appender in self._files.values():
            appender.close()
        self._files.clear()
        self._lock.release()

    def _appender(self, path: Path) -> Appender:
        if path not in self._files:
            self._files[path] = Appender(path)
        return self._files[path]

    def write(self, file: str, samples: Iterable[Sample], timings: Iterable[Mapping[str, Any]] = ()) -> None:
        """Append samples to `samples/<file>.jsonl`, their timings beside it. Prefixes come first."""
        batch = sorted(samples, key=lambda sample: sample["id"])
        self._appender(self.folder / SAMPLES / f"{file}.jsonl").append("".join(map(dump, batch)))
        self._appender(self.folder / TIMINGS / f"{file}.jsonl").append("".join(map(dump, timings)))
        self.done.update(sample["id"] for sample in batch)

    def write_prefixes(self, fragments: Iterable[tuple[Fragment, ...]]) -> None:
        """Store fragments, each given as its examples in order, and the examples; those already there are skipped."""
        lines: list[str] = []
        for parts in fragments:
            digest = join(parts).digest
            if digest in self.prefixes:
                continue
            for part in parts:
                if part.digest not in self.prefixes:
                    segments = [[segment.kind, segment.text] for segment in part.segments]
                    lines.append(dump({"digest": part.digest, "segments": segments}))
                    self.prefixes.add(part.digest)
            if digest not in self.prefixes:
                lines.append(dump({"digest": digest, "parts": [part.digest for part in parts]}))
                self.prefixes.add(digest)
        self._appender(self.folder / PREFIXES).append("".join(lines))

    def adopt(self, shard: Path) -> None:
        """Take over what a shard holds and this folder lacks, then remove the shard. Safe to repeat after a crash."""
        for _, entry in read_lines(shard / PREFIXES) if (shard / PREFIXES).exists() else ():
            if entry["digest"] not in self.prefixes:
                self._appender(self.folder / PREFIXES).append(dump(entry))
                self.prefixes.add(entry["digest"])
        for path in sample_files(shard):
            beside = shard / TIMINGS / path.name
            timings = {timing["id"]: timing for _, timing in read_lines(beside)} if beside.exists() else {}
            new = (cast(Sample, record) for _, record in read_lines(path) if record["id"] not in self.done)
            while some := list(islice(new, ADOPTED_AT_ONCE)):
                self.write(path.stem, some, [timings[one["id"]] for one in some if one["id"] in timings])
        shutil.rmtree(shard)
        if not any(shard.parent.iterdir()):
            shard.parent.rmdir()
