"""The experiment with a real (tiny, random) model through the interceptor, against the reference loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_engine import Quiet
from tiny import tiny_folder

from experiments.base import Source, load
from experiments.engine import run
from experiments.operators.experiment import OperatorTransfer
from experiments.operators.live import ENOUGH, call_grammar, common_lead, shared_parts, spec_of
from experiments.records import decode_source, read_header, read_samples
from experiments.suites.load import load_suite
from toolkit.calls.syntax import SYNTAXES
from toolkit.decoding.policy import PAPER, STRICT
from toolkit.decoding.reference import ReferenceLoop
from toolkit.decoding.request import GREEDY, Limits, Request, Sampling
from toolkit.models.load import load as load_model
from toolkit.plugins.fragment import join
from toolkit.tools.toolbox import Toolbox


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("model"), "llama")


def write_config(path: Path, folder: Path, variants: str) -> Path:
    path.write_text(
        f"experiment: operators\nmodels: [{{name: tiny, path: {folder}, model_tokens: 12, segment_tokens: 9}}]\n"
        f"variants: [{variants}]\nshots: [0, 2]\nskills: ['+', '|']\ntrials: 3\norders: 2\nslots: 3\nseed: 4\n"
    )
    return path


@pytest.mark.parametrize(
    "variant", ["strict-arrow", "strict-arrow-constrained", "strict-equals-t1.0", "paper-arrow-t0.9", "strict-none"]
)
def test_every_reply_equals_the_reference_loop_on_the_whole_prompt(folder: Path, tmp_path: Path, variant: str) -> None:
    experiment, typed = load(write_config(tmp_path / "c.yaml", folder, variant))
    assert isinstance(experiment, OperatorTransfer)
    run(experiment, Source(tmp_path / "c.yaml", typed), tmp_path / "run", Quiet())
    model, tokenizer = load_model(spec_of(experiment.config.models[0]))
    parsed = experiment.variants[variant]
    loop = ReferenceLoop(
        model,
        tokenizer,
        Toolbox({} if parsed.syntax == "none" else experiment.suite.tools),
        SYNTAXES.get(parsed.syntax, SYNTAXES["arrow"]),
        PAPER if parsed.protocol == "paper" else STRICT,
    )
    grammar = call_grammar(model, tokenizer, parsed, experiment.suite) if parsed.constrained else None
    samples = list(read_samples(tmp_path / "run"))
    assert len(samples) == 12
    for sample in samples:
        item = next(one for one in experiment.items() if one.id == sample["id"])
        asked = experiment.prompts.ask(item)
        ids = [*join(asked.parts).ids(tokenizer), *tokenizer.encode(asked.prompt, add_special_tokens=False)]
        budget = 9 if parsed.protocol == "paper" else 12
        request = Request(
            item.id,
            ids,
            seed=asked.seed,
            limits=Limits(model_tokens=budget, calls=16 if parsed.protocol == "paper" else 4),
            sampling=GREEDY if parsed.temperature is None else Sampling(parsed.temperature, 50, 1.0),
            constraint=None if grammar is None else grammar.constraint,
        )
        reply = loop.reply(request)
        assert (sample["ids"], sample["text"], sample["finish"]) == (reply.ids, reply.text, reply.finish)
        assert decode_source(sample["source"]) == reply.source
    described = read_header(tmp_path / "run")["models"]["tiny"]
    assert len(described["weights_sha256"]) == 64 and described["dtype"] == "float32"


def test_the_common_lead_is_a_proper_start_of_every_question(folder: Path, tmp_path: Path) -> None:
    experiment, _ = load(write_config(tmp_path / "c.yaml", folder, "strict-arrow"))
    assert isinstance(experiment, OperatorTransfer)
    _, tokenizer = load_model(spec_of(experiment.config.models[0]))
    assert tokenizer.decode(common_lead(tokenizer, load_suite("operators"))) == "<Guest> What is"


def test_rows_share_leading_examples_when_enough_begin_alike() -> None:
    class Part:
        def __init__(self, digest: str) -> None:
            self.digest = digest

    rows = [tuple(map(Part, text)) for text in ["abc", "abd", "abe", "ax", "b", "abc"]]
    assert ENOUGH == 3
    assert shared_parts(rows) == [2, 2, 2, 1, 0, 2]  # type: ignore[arg-type]
