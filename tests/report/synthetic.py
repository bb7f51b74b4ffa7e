"""Synthetic samples in the record format: a model that calls after a shot and transfers less to held-out skills."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from experiments.records import RunWriter, write_header
from toolkit.plugins.fragment import Fragment, Segment

SKILLS = ("+", "*", "^", "&", "-", "|")
HOSTILE = (
    "</details></script><script>document.title='owned'</script><img src=x onerror=alert(1)> & $x^2$ \\textbf{x} | `"
)
PYTHON = {
    "+": int.__add__,
    "*": int.__mul__,
    "^": int.__xor__,
    "&": int.__and__,
    "-": int.__sub__,
    "|": int.__or__,
}


def sample(model: str, variant: str, shots: int, skill: str, trial: int, strength: float) -> dict[str, Any]:
    """One record, drawn from a stream of its own; the question depends on trial and skill only."""
    identity = f"{model}/{variant}/N{shots}/{skill}/t{trial:04d}"
    items, luck = random.Random(f"{skill}{trial}"), random.Random(identity)
    a, b = items.randint(0, 100), items.randint(0, 100)
    held_out = SKILLS.index(skill) >= shots
    truth = str(PYTHON[skill](a, b))
    rate = 0.02 if shots == 0 else strength * (0.55 + 0.09 * shots if held_out else 0.97)
    syntax = " -> " if "arrow" in variant else "="
    used, outcome, operands = skill, "right_by_call", f"{a} {skill} {b}"
    if luck.random() > rate:
        outcome = luck.choice(["wrong_operator", "wrong_operands", "no_call", "malformed_call", "cut_by_budget"])
        if outcome == "wrong_operator":
            used = luck.choice([s for s in SKILLS if s != skill])
            operands = f"{a} {used} {b}"
        elif outcome == "wrong_operands":
            operands = f"{a} {skill} {b + 1}"
    calls, text = [], f" {a} {skill} {b} is about {luck.randint(0, 99)}."
    if outcome in ("right_by_call", "wrong_operator", "wrong_operands"):
        left, _, right = operands.partition(f" {used} ")
        result = str(PYTHON[used](int(left), int(right)))
        head = f" {a} {skill} {b} is "
        written = f"[MATH({operands})"
        text = f"{head}{written}{syntax}{result}] {result}."
        calls = [
            {
                "name": "MATH",
                "arguments": operands,
                "status": "ok",
                "result": result,
                "start": len(head),
                "end": len(head) + len(written),
            }
        ]
    elif trial % 10 == 3:
        text = " " + HOSTILE
    right = outcome == "right_by_call"
    prefix = hashlib.sha256(f"{shots}/{trial % 16}".encode()).hexdigest()
    record = {
        "id": identity, "model": model, "variant": variant, "shots": shots, "skill": skill, "trial": trial,
        "order": trial % 16, "seed": luck.getrandbits(63), "prefix": prefix, "held_out": held_out,
        "question": f"What is {a} {skill} {b}?", "prompt": f"<Guest> What is {a} {skill} {b}?\n<AI>", "truth": truth,
        "expect": {"api": "MATH", "arguments": f"{a} {skill} {b}"}, "ids": [luck.randint(0, 50000) for _ in range(24)],
        "source": "M12T5M7" if calls else "M24", "text": text, "calls": calls, "finish": "stop",
        "scores": {"strict": right, "paper": right or truth == "0", "call": right}, "answer": truth if right else None,
        "outcome": outcome,
    }  # fmt: skip
    if outcome == "wrong_operator":
        record["called"] = used
    return record


def samples(
    trials: int = 40,
    models: tuple[str, ...] = ("gpt-neo-125m", "toy-60M"),
    variants: tuple[str, ...] = ("paper-arrow",),
    shots: tuple[int, ...] = (0, 1, 2, 3, 4, 5),
) -> Iterator[dict[str, Any]]:
    """All skills at all numbers of shots for each model and variant."""
    for place, model in enumerate(models):
        for variant in variants:
            for count in shots:
                for skill in SKILLS:
                    for trial in range(trials):
                        yield sample(model, variant, count, skill, trial, 0.95 - 0.2 * place)


SHOTS = (0, 1, 3)  # few panels: drawing them is what takes time
HEADER = {
    "experiment": "operators",
    "config": {"path": "x.yaml", "typed": {"trials": 12}, "resolved": {"trials": 12}},
    "planned": 432,
    "report": {
        "title": "Held-out operators <b>synthetic</b>",
        "axes": {"rows": "operator", "columns": "shots"},
        "models": ["gpt-neo-125m", "toy-60M"],
        "skills": list(SKILLS),
        "deviations": ["Synthetic replies, not a model's: <script>alert(1)</script>"],
    },
    "models": {"toy-60M": {"sha256": "0" * 64}},
    "sessions": [{"started": "2026-01-01T00:00:00Z", "command": "test", "commit": None, "dirty": True}],
}


def write_run(folder: Path, samples: Iterable[dict[str, Any]], header: dict[str, Any] = HEADER) -> Path:
    """A run folder with these samples; prefixes are real fragments, timings say 0.1 s each."""
    with RunWriter(folder) as writer:
        fragments: dict[tuple[int, int], Fragment] = {}
        batch = []
        for sample in samples:
            key = (sample["shots"], sample["order"])
            fragment = fragments.setdefault(key, Fragment((Segment("user", f"<Guest> {key}?\n<AI>"),)))
            batch.append({**sample, "prefix": fragment.digest})
        writer.write_prefixes((fragment,) for fragment in fragments.values())
        writer.write("all", batch, ({"id": sample["id"], "seconds": 0.1} for sample in batch))
    write_header(folder, header)
    return folder
