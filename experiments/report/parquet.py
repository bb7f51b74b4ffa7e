"""`samples.parquet`: the samples as columns, loadable by `datasets.load_dataset("parquet", data_files=...)`.

Rows keep their order. Fields that only some experiments have travel as JSON text in `extra`, so that every experiment
has one schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 2000
TEXT = ("id", "model", "variant", "skill", "prefix", "question", "prompt", "source", "text", "truth", "answer")
TEXT_LAST = ("finish", "outcome", "called")
CALL = ("name", "arguments", "status", "result")


def schema(scorers: Iterable[str]) -> pa.Schema:
    """The columns. `scores` is a struct with one nullable boolean per scorer."""
    call = pa.struct([*((name, pa.string()) for name in CALL), ("start", pa.int32()), ("end", pa.int32())])
    return pa.schema(
        [
            *((name, pa.string()) for name in TEXT),
            ("shots", pa.int32()),
            ("trial", pa.int32()),
            ("order", pa.int32()),
            ("seed", pa.uint64()),
            ("held_out", pa.bool_()),
            ("ids", pa.list_(pa.int32())),
            ("calls", pa.list_(call)),
            ("scores", pa.struct([(name, pa.bool_()) for name in sorted(scorers)])),
            *((name, pa.string()) for name in TEXT_LAST),
            ("extra", pa.string()),
        ]
    )


def rows(samples: Iterable[Mapping[str, Any]], columns: pa.Schema) -> Iterator[dict[str, Any]]:
    """Samples as rows of the schema; every field is either a column or in `extra`."""
    known = set(columns.names)
    for sample in samples:
        extra = {name: value for name, value in sample.items() if name not in known}
        row = {name: sample.get(name) for name in columns.names}
        row["extra"] = json.dumps(extra, sort_keys=True, ensure_ascii=False) if extra else None
        yield row


def write(path: Path, samples: Iterable[Mapping[str, Any]], scorers: Iterable[str]) -> None:
    """Write in batches of bounded size, to a temporary file that then takes the place of `path`."""
    columns = schema(scorers)
    temporary = path.with_suffix(".tmp")
    stream = rows(samples, columns)
    with pq.ParquetWriter(temporary, columns, compression="zstd") as writer:
        while batch := list(islice(stream, BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=columns))
    temporary.replace(path)


def first_difference(path: Path, samples: Iterable[Mapping[str, Any]], scorers: Iterable[str]) -> str | None:
    """The first row and column where the file differs from the samples; None when it is equal."""
    columns = schema(scorers)
    expected = rows(samples, columns)
    file = pq.ParquetFile(path)
    if file.schema_arrow != columns:
        return "its columns are not those of the samples"
    for batch in file.iter_batches(BATCH):
        wanted = pa.RecordBatch.from_pylist(list(islice(expected, batch.num_rows)), schema=columns)
        if wanted.num_rows != batch.num_rows:
            return "it has more rows than there are samples"
        if not wanted.equals(batch):
            names = [name for name in columns.names if not wanted[name].equals(batch[name])]
            return f"column {names[0]} differs in the rows from sample {wanted['id'][0]}"
    return None if next(expected, None) is None else "it has fewer rows than there are samples"
