from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments import records, storage
from experiments.records import RunWriter, decode_source, encode_source, read_prefixes, read_samples
from toolkit.errors import RunError, UserError
from toolkit.plugins.examples import example_fragment
from toolkit.plugins.fragment import join


def sample(name: str, **changes: Any) -> Any:
    record: dict[str, Any] = {key: "" if shape is str else 0 for key, shape in records.SAMPLE.items()}
    record |= {"held_out": True, "expect": {}, "ids": [], "calls": [], "scores": {}, "answer": None}
    return record | {"id": name, "text": "a\u2028é\ud800" if name == "odd" else "x"} | changes


def write(folder: Path, *names: str) -> Path:
    with RunWriter(folder) as writer:
        writer.write("m.v", [sample(name) for name in names])
    return folder / "samples" / "m.v.jsonl"


def test_source_masks_survive_as_run_lengths() -> None:
    for mask in ([], [1], [0, 0], [1, 1, 0, 1], [0] * 12 + [1] * 100):
        assert decode_source(encode_source(mask)) == mask
    assert encode_source([1, 1, 0, 0, 0, 1]) == "M2T3M1"


def test_samples_come_back_in_id_order_within_a_batch(tmp_path: Path) -> None:
    path = write(tmp_path, "b", "a", "odd")
    write(tmp_path, "0")
    assert [one["id"] for one in read_samples(tmp_path)] == ["a", "b", "odd", "0"]
    assert all(
        line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii="\\ud" in line)
        for line in path.read_text().split("\n")
        if line
    )


def test_torn_last_line_is_skipped_by_readers_and_cut_by_writers(tmp_path: Path) -> None:
    path = write(tmp_path, "a", "b")
    whole = path.read_bytes()
    for cut in range(1, len(whole) // 2):
        path.write_bytes(whole[:-cut])
        assert [one["id"] for one in read_samples(tmp_path)] == ["a"]
    with RunWriter(tmp_path) as writer:
        assert writer.done == {"a"}
        writer.write("m.v", [sample("b")])
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("line", "what"),
    [("{broken\n", "damaged"), ("[1]\n", "not an object"), ("\n", "damaged"), ('{"id": "z"}\n', "lacks")],
)
def test_other_damage_names_file_and_line(tmp_path: Path, line: str, what: str) -> None:
    path = write(tmp_path, "a", "b")
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + line + second)
    with pytest.raises(UserError, match=what) as caught:
        list(read_samples(tmp_path))
    assert f"{path}:2" in str(caught.value)
    with pytest.raises(UserError), RunWriter(tmp_path):
        pass
    with pytest.raises(UserError, match=what), RunWriter(tmp_path):  # the lock was given back: same error, no refusal
        pass


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"text": 5}, "text is not text"),
        ({"shots": None}, "shots is not a whole number"),
        ({"seed": 2**70}, "seed is not a whole number"),
        ({"trial": float("nan")}, "trial is not a whole number"),
        ({"held_out": 1}, "held_out is not true or false"),
        ({"ids": ["a"], "source": "M1"}, "ids.0 is not a whole number"),
        ({"source": "M999999999"}, "source is not the mask"),
        ({"calls": [{"name": "X"}]}, "calls.0 lacks 'arguments'"),
        ({"calls": {}}, "calls is not a list"),
    ],
)
def test_wrong_types_in_a_sample_name_key_file_and_line(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    path = write(tmp_path, "a", "b")
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first + records.dump({**json.loads(second), **changes}))
    with pytest.raises(UserError, match=what) as caught:
        list(read_samples(tmp_path))
    assert f"{path}:2" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"format": 1}', '{"format": 1, "experiment": 5}', "\0"])
def test_a_damaged_header_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError) as caught:
        records.read_header(tmp_path)
    assert "run.json" in str(caught.value) and "\n" not in str(caught.value)


def test_repeated_sample_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, "a")
    path.write_text(path.read_text() * 2)
    with pytest.raises(UserError, match="twice"):
        list(read_samples(tmp_path))


def test_prefixes_are_stored_once_and_checked(tmp_path: Path) -> None:
    one = example_fragment("What is 1 + 2?", "1 + 2 is [MATH(1 + 2) -> 3] 3.")
    two = example_fragment("What are you?", "A test.")
    for _ in range(2):
        with RunWriter(tmp_path) as writer:
            writer.write_prefixes([(one, two), (two, one), (one, two)])
    lines = (tmp_path / "prefixes.jsonl").read_text().splitlines()
    assert len(lines) == 4
    found = read_prefixes(tmp_path)
    assert found[join([two, one]).digest] == join([two, one]) and found[one.digest] == one
    (tmp_path / "prefixes.jsonl").write_text("\n".join(lines).replace("1 + 2", "1 + 3", 1) + "\n")
    with pytest.raises(UserError, match=r"prefixes\.jsonl:1.*digest|digest"):
        read_prefixes(tmp_path)


def test_second_process_is_refused_and_a_dead_one_leaves_no_lock(tmp_path: Path) -> None:
    code = "import sys, time; from experiments.records import RunWriter; from pathlib import Path\n"
    code += f"with RunWriter(Path({str(tmp_path)!r})): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"pid {holder.pid}"), RunWriter(tmp_path):
            pass
        holder.kill()
    with RunWriter(tmp_path):
        pass


def test_full_disk_is_fatal_and_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a")
    before = path.read_bytes()
    real, calls = os.pwrite, []

    def full(handle: int, data: bytes, offset: int) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[:10], offset)

    with RunWriter(tmp_path) as writer:
        monkeypatch.setattr(storage.os, "pwrite", full)
        with pytest.raises(RunError, match="disk is full"):
            writer.write("m.v", [sample("b")])
        monkeypatch.undo()
        assert path.read_bytes() == before and writer.done == {"a"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_header_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    records.write_header(tmp_path, {"experiment": "x"})
    before = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.json.new").symlink_to("/dev/full")
    with pytest.raises(RunError, match="disk is full"):
        records.write_header(tmp_path, {"experiment": "y"})
    assert (tmp_path / "run.json").read_bytes() == before


def test_unwritable_places_are_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out"):
        RunWriter(tmp_path / "file" / "run")
    with pytest.raises(UserError, match=r"no run\.json"):
        records.read_header(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99}')
    with pytest.raises(UserError, match="format 99"):
        records.read_header(tmp_path)
