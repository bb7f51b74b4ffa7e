"""The training data as a Hugging Face dataset: built from a configuration, checked, saved with its fingerprint.

Rows are {"question", "answer", "operator", "api", "input_ids", "labels"}; splits are `train` and `validation`. Knows
nothing of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import datasets

from toolkit.errors import UserError
from toolkit.plugins.discover import open_plugin
from toolkit.plugins.examples import ExampleCall, ExampleFault, parse_answer
from toolkit.plugins.fragment import Tokenizer
from toolkit.plugins.plugin import LocalPlugin
from toolkit.tuning.config import Data
from toolkit.tuning.exchanges import Exchange, operator_of, plain, templates
from toolkit.tuning.labels import label_exchange
from toolkit.tuning.split import Split, refuse_held_out, split

FACTS = "fingerprint.json"
MAX_CUSTOM = 64 << 20  # bytes of a custom file
Rows = dict[str, list[Exchange]]


def build(data: Data, tokenizer: Tokenizer, seed: int, beside: Path) -> tuple[datasets.DatasetDict, Split]:
    """The dataset of a configuration and what is held out. `beside` is the folder that relative paths start from.

    UserError for an empty split, for data without a call, and for a held-out operator anywhere in it.
    """
    plugins = [_plugin(name, beside) for name in data.plugins]
    parts, exchanges = make_exchanges(data, plugins, seed)
    if data.custom is not None:
        path = beside / Path(data.custom).expanduser()
        custom = read_custom(path)
        refuse_held_out(custom, parts, str(path))
        exchanges += custom
    refuse_held_out(exchanges, parts, "training data")
    if not any(exchange.operator for exchange in exchanges):
        raise UserError("no exchange has a call", "data", "add examples with a call [NAME(arguments) -> result]")
    rows = _divide(exchanges, data, seed)
    made = {name: datasets.Dataset.from_list(_rows(part, tokenizer)) for name, part in rows.items()}
    return datasets.DatasetDict(made), parts


def _plugin(name: str, beside: Path) -> LocalPlugin:
    path = beside / Path(name).expanduser()
    return open_plugin(path if path.exists() else name)


def make_exchanges(data: Data, plugins: Sequence[LocalPlugin], seed: int) -> tuple[Split, list[Exchange]]:
    """Exchanges of every seen operator, and ones without a call; each text once, however often it was drawn."""
    found = templates(plugins)
    parts = split(data, plugins, found)
    made: dict[tuple[str, str], Exchange] = {}
    for operator in parts.seen:
        own = [t for t in found if t.operator == operator and t.call.name not in parts.apis]
        rng = Random(f"{seed}/{operator}")
        for index in range(data.exchanges):
            exchange = own[index % len(own)].draw(rng, data.low, data.high)
            made.setdefault((exchange.question, exchange.answer), exchange)
    count = round(len(made) * data.plain / (1 - data.plain))
    pool, rng = plain(), Random(f"{seed}/plain")
    quiet = [pool[rng.randrange(len(pool))] for _ in range(count)]
    return parts, [*made.values(), *quiet]


def read_custom(path: Path) -> list[Exchange]:
    """Exchanges of a JSONL file, one {"question", "answer"} a line; UserError names the line of a mistake."""
    try:
        if path.stat().st_size > MAX_CUSTOM:
            raise UserError("larger than 64 MB", str(path), "split the file")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"this cannot be read: {error}", str(path), "give a JSONL file") from error
    return [_custom(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _custom(line: str, where: str) -> Exchange:
    form = 'write {"question": "...", "answer": "..."}'
    try:
        record = json.loads(line)
        question, answer = record["question"], record["answer"]
        if not (isinstance(question, str) and isinstance(answer, str) and question.strip() and answer.strip()):
            raise TypeError("question and answer must be text")
        if "\n" in question + answer:
            raise TypeError("question and answer are one line each")
        calls = [piece for piece in parse_answer(answer) if isinstance(piece, ExampleCall)]
    except (ValueError, KeyError, TypeError, RecursionError, ExampleFault) as error:
        raise UserError(f"not an exchange ({type(error).__name__}: {error})", where, form) from error
    return Exchange(question, answer, operator_of(calls[0]) if calls else None, calls[0].name if calls else None)


def _divide(exchanges: list[Exchange], data: Data, seed: int) -> Rows:
    """Shuffled exchanges in two splits that share no text."""
    groups: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        groups.setdefault(exchange.question, []).append(exchange)
    questions = sorted(groups)
    Random(f"{seed}/split").shuffle(questions)
    kept = round(len(questions) * data.validation)
    parts = {"train": questions[kept:], "validation": questions[:kept]}
    for name, chosen in parts.items():
        if not chosen:
            raise UserError(f"the {name} split is empty", "data", "give more exchanges or another validation share")
    return {name: [one for question in chosen for one in groups[question]] for name, chosen in parts.items()}


def _rows(exchanges: Sequence[Exchange], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    rows = []
    for exchange in exchanges:
        marked = label_exchange(exchange.question, exchange.answer, tokenizer)
        rows.append({**vars(exchange), "input_ids": marked.ids, "labels": marked.labels})
    return rows


def fingerprint(made: datasets.DatasetDict) -> str:
    """SHA-256 over every row of every split."""
    digest = hashlib.sha256()
    for name in sorted(made):
        for row in made[name]:
            digest.update(json.dumps([name, row], sort_keys=True).encode())
    return digest.hexdigest()


def save(made: datasets.DatasetDict, parts: Split, folder: Path) -> str:
    """Save the dataset with its fingerprint and split; returns the fingerprint."""
    made.save_to_disk(str(folder))
    facts = {"fingerprint": fingerprint(made), "seen": parts.seen, "held_out": parts.held_out, "apis": parts.apis}
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return str(facts["fingerprint"])


def load(folder: Path) -> tuple[datasets.DatasetDict, Split]:
    """A saved dataset and its split; UserError when its rows are not those of its fingerprint."""
    made = datasets.DatasetDict.load_from_disk(str(folder))
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    if fingerprint(made) != facts["fingerprint"]:
        raise UserError("the rows are not those of its fingerprint", str(folder), "build the dataset again")
    return made, Split(tuple(facts["seen"]), tuple(facts["held_out"]), tuple(facts["apis"]))
