"""The samples that a report lets one read: a bounded choice from every cell and outcome, cut into who wrote what.

The choice depends on sample ids alone, so it is the same on every run. Strings stay raw here: the page escapes them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from experiments.report.tally import scorer_of
from toolkit.calls.syntax import SYNTAXES

PER_BUCKET = 4
MOST = 3000
TEXT_LIMIT = 1500
Sample = Mapping[str, Any]
Entry = dict[str, Any]


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """At most `limit` characters, with a sign where something was left out."""
    return text if len(text) <= limit else text[:limit] + " […]"


def segments(sample: Sample) -> list[tuple[str, str]]:
    """The reply as (writer, text) pieces: `model`, `call` (written by the model too) and `tool` (injected).

    What the tool wrote starts where a call ends; its length follows from the call's result and the marks of a syntax.
    A call without injected text (the model's own words were kept) is followed by `model` text only.
    """
    data = sample["text"].encode("utf-8", "surrogatepass")
    pieces: list[tuple[str, bytes]] = []
    place = 0
    for call in sample["calls"]:
        start, end = max(place, call["start"]), max(place, call["end"])
        stop = end + _injected(data[end:], call["result"] or "") if "T" in sample["source"] else end
        pieces += [("model", data[place:start]), ("call", data[start:end]), ("tool", data[end:stop])]
        place = stop
    pieces.append(("model", data[place:]))
    return [(writer, text.decode("utf-8", "replace")) for writer, text in pieces if text]


def _injected(rest: bytes, result: str) -> int:
    """How many bytes at the start of `rest` are an injection of `result`; 0 if none are."""
    for syntax in SYNTAXES.values():
        whole = syntax.injection(result).encode("utf-8", "surrogatepass")
        if rest.startswith(whole):
            return len(whole)
        mark, closer = syntax.result.encode(), syntax.closer.encode()
        if rest.startswith(mark) and closer in rest:
            return rest.index(closer) + len(closer)
    return len(syntax.closer) if rest.startswith(syntax.silent().encode()) else 0


def entry(sample: Sample) -> Entry:
    """What the page needs of one sample, with texts of bounded length."""
    return {
        "id": sample["id"],
        "model": sample["model"],
        "variant": sample["variant"],
        "skill": sample["skill"],
        "shots": sample["shots"],
        "heldOut": sample["held_out"],
        "outcome": sample["outcome"],
        "passed": sample["scores"].get(scorer_of(sample["variant"], sample["scores"])),
        "question": cut(sample["question"]),
        "truth": cut(str(sample["truth"]), 200),
        "answer": None if sample["answer"] is None else cut(str(sample["answer"]), 200),
        "finish": sample["finish"],
        "reply": [[writer, cut(text)] for writer, text in segments(sample)[:40]],
        "calls": [
            {name: cut(str(call[name]), 400) for name in ("name", "arguments", "status", "result")}
            for call in sample["calls"][:10]
        ],
    }


class Selection:
    """Keeps, while samples stream by, the `PER_BUCKET` with the lowest id hash of each (cell, outcome)."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[Any, ...], list[tuple[int, str, Entry]]] = {}

    def add(self, sample: Sample) -> None:
        """Consider one sample."""
        where = (sample["model"], sample["variant"], sample["shots"], sample["skill"], sample["outcome"])
        bucket = self._buckets.setdefault(where, [])
        rank = -crc32(sample["id"].encode("utf-8", "surrogatepass"))
        if len(bucket) < PER_BUCKET:
            heapq.heappush(bucket, (rank, sample["id"], entry(sample)))
        elif rank > bucket[0][0]:
            heapq.heapreplace(bucket, (rank, sample["id"], entry(sample)))

    def entries(self) -> list[Entry]:
        """At most `MOST` entries: the first of every bucket, then the second of every bucket, and so on, by id."""
        kept: list[Entry] = []
        for layer in self._layers():
            kept += layer[: MOST - len(kept)]
        return sorted(kept, key=lambda item: str(item["id"]))

    def _layers(self) -> Iterator[list[Entry]]:
        buckets = [sorted(self._buckets[where], key=lambda item: item[:2], reverse=True) for where in self._buckets]
        for depth in range(PER_BUCKET):
            yield sorted(
                (bucket[depth][2] for bucket in buckets if depth < len(bucket)),
                key=lambda item: crc32(str(item["id"]).encode("utf-8", "surrogatepass")),
            )
