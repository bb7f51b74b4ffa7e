"""The questions that every engine of the benchmark answers: SmolLM2-135M, the published fragments, one shot order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from experiments.base import load as load_experiment
from toolkit.calls.syntax import ARROW
from toolkit.decoding import GREEDY, Interceptor, Limits, Sampling
from toolkit.models.load import load
from toolkit.models.spec import ModelSpec
from toolkit.tools.builtin import builtin
from toolkit.tools.toolbox import Toolbox

CONFIG = Path(__file__).parents[2] / "configs" / "operators" / "smollm2.yaml"
MODEL_TOKENS = 48  # budget of a reply, as in the configuration
SEGMENT_TOKENS = 32  # what the original's 16 GPT-2 tokens become for one token per digit
WARM = Sampling(temperature=0.9, top_k=50)


@dataclass(frozen=True)
class Question:
    """One question: its prompt after the shared fragment, as text and ids, and its seed."""

    id: str
    prompt: str
    ids: list[int]
    seed: int


class Workload:
    """Model, fragment of `shots` examples in one order, and questions over all six operators."""

    def __init__(self, shots: int, count: int, dtype: str = "float32") -> None:
        spec = ModelSpec(name="SmolLM2-135M", path="bundled:smollm2-135m-instruct", dtype=dtype)
        self.model, self.tokenizer = load(spec)
        self.toolbox = Toolbox(builtin())
        trials = -(-count // 6)
        experiment, _ = load_experiment(CONFIG, [f"trials={trials}", "orders=1", f"shots=[{shots}]"])
        prompts: Any = experiment.prompts  # type: ignore[attr-defined]
        asked = [prompts.ask(item) for item in islice(experiment.items(), count)]
        self.fragment = "".join(part.text for part in asked[0].parts)
        self.fragment_ids = [token for part in asked[0].parts for token in part.ids(self.tokenizer)]
        self.questions = [
            Question(one.item.id, one.prompt, self.tokenizer.encode(one.prompt, add_special_tokens=False), one.seed)
            for one in asked
        ]

    def options(self, sampled: bool) -> dict[str, Any]:
        """Generation settings of the Hugging Face peers."""
        eos = self.tokenizer.eos_token_id
        if not sampled:
            return {"do_sample": False, "pad_token_id": eos, "temperature": None, "top_p": None, "top_k": None}
        return {"do_sample": True, "pad_token_id": eos, "temperature": 0.9, "top_k": 50, "top_p": 1.0}

    def interceptor(self, slots: int) -> Interceptor:
        """Ours."""
        return Interceptor(self.model, self.tokenizer, self.toolbox, ARROW, slots=slots)

    @property
    def limits(self) -> Limits:
        """Budget of one reply."""
        return Limits(MODEL_TOKENS)

    @staticmethod
    def sampling(sampled: bool) -> Sampling:
        """Settings of one row."""
        return WARM if sampled else GREEDY


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    import platform

    import transformers

    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return {
        "processor": f"{name}, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
