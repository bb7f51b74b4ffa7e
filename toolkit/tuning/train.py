"""The training loop: AdamW, a linear schedule, accelerate, checkpoints, early stopping, a stop at the first NaN.

One function's worth of training, readable from top to bottom. A step's batch, dropout and learning rate follow from
seed and step alone, so a training that was killed and resumed goes on as if nothing had happened. Knows nothing of
where data come from, of methods, or of how progress is shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import torch
from accelerate import Accelerator

from toolkit.errors import RunError, UserError
from toolkit.tuning import checkpoint
from toolkit.tuning.batches import Row, chosen, collate, labelled
from toolkit.tuning.checkpoint import State
from toolkit.tuning.config import Budget
from toolkit.tuning.loss import summed_loss
from toolkit.tuning.methods import trainable


class Watch(Protocol):
    """Hears of progress."""

    def begin(self, steps: int, done: int) -> None:
        """`done` of `steps` steps are behind us."""
        ...

    def step(self, number: int, loss: float) -> None:
        """A step was taken; loss in nats per labelled token."""
        ...

    def validated(self, number: int, loss: float) -> None:
        """The validation loss after a step."""
        ...


class Training:
    """Trains the trainable parameters of `model` on `train`; `folder` keeps the checkpoint of `digest`."""

    def __init__(
        self,
        model: Any,
        train: Sequence[Row],
        validation: Sequence[Row],
        budget: Budget,
        seed: int,
        folder: Path,
        digest: str,
        accelerator: Accelerator,
    ) -> None:
        self.budget, self.seed, self.folder, self.digest = budget, seed, folder, digest
        self.train, self.validation = train, validation
        self.accelerator = accelerator
        if budget.batch % (accelerator.num_processes * budget.accumulate):
            raise UserError(
                f"a batch of {budget.batch} does not split evenly over {accelerator.num_processes} processes",
                "budget.batch",
                "make it a multiple of processes x accumulate",
            )
        self.parameters = trainable(model)
        optimizer = torch.optim.AdamW(
            self.parameters.values(), lr=budget.learning_rate, weight_decay=budget.weight_decay
        )
        self.model, self.optimizer = accelerator.prepare(model, optimizer)
        self.state = State()
        self._resume()

    def _resume(self) -> None:
        found = checkpoint.read(self.folder, self.digest)
        if found is None:
            return
        self.state, weights, optimizer = found
        self._put(weights)
        self.optimizer.load_state_dict(optimizer)

    def _put(self, weights: checkpoint.Weights) -> None:
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(weights[name])

    def _weights(self) -> checkpoint.Weights:
        return {name: parameter.detach().cpu().clone() for name, parameter in self.parameters.items()}

    def run(self, watch: Watch) -> State:
        """Train to the end of the budget or until validation stops improving; leaves the best weights in the model.

        RunError when a loss is not finite; the last checkpoint stays as it was.
        """
        state, budget = self.state, self.budget
        watch.begin(budget.steps, state.step)
        began, before = perf_counter(), state.seconds
        while state.step < budget.steps and not self._stopped():
            loss = self._step(state.step)
            state.step += 1
            state.losses.append(loss)
            watch.step(state.step, loss)
            self.accelerator.log({"loss": loss}, step=state.step)
            if state.step % budget.evaluate_every == 0 or state.step == budget.steps:
                self._validate(watch)
                state.seconds = before + perf_counter() - began
                self._save()
        self._put(state.best)
        return state

    def _stopped(self) -> bool:
        return self.budget.patience is not None and self.state.stale() >= self.budget.patience

    def _step(self, number: int) -> float:
        """One optimiser step over all micro-batches; the mean loss per labelled token."""
        budget, world = self.budget, self.accelerator.num_processes
        rows = [self.train[i] for i in chosen(number, budget.batch, len(self.train), self.seed)]
        total = labelled(rows)
        torch.manual_seed(self.seed * 1_000_003 + number)  # dropout
        for group in self.optimizer.param_groups:
            group["lr"] = budget.learning_rate * _schedule(number, budget)
        self.model.train()
        own = rows[self.accelerator.process_index :: world]
        size = len(own) // budget.accumulate
        summed = torch.zeros((), device=self.accelerator.device)
        for start in range(0, len(own), size):
            batch = collate(own[start : start + size]).to(self.accelerator.device)
            with self.accelerator.autocast():
                loss = summed_loss(self.model, batch)
            summed += loss.detach()
            self.accelerator.backward(loss * (world / total))  # gradients are averaged over processes
        mean = float(self.accelerator.reduce(summed, "sum")) / total
        if not math.isfinite(mean):
            raise RunError(
                f"step {number + 1}: the loss is {mean}: lower budget.learning_rate, or use mixed_precision no; "
                "nothing was overwritten"
            )
        self.accelerator.clip_grad_norm_(self.parameters.values(), budget.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.state.tokens += sum(len(row["input_ids"]) for row in rows)
        return mean

    @torch.no_grad()
    def _validate(self, watch: Watch) -> None:
        """Mean loss per labelled token of the validation split; keeps the weights when it is the lowest so far."""
        self.model.eval()
        summed = 0.0
        rows = sorted(self.validation, key=lambda row: len(row["input_ids"]))
        for start in range(0, len(rows), self.budget.batch):
            batch = collate(rows[start : start + self.budget.batch]).to(self.accelerator.device)
            with self.accelerator.autocast():
                summed += float(summed_loss(self.model, batch))
        loss = summed / labelled(rows)
        if not math.isfinite(loss):
            raise RunError(f"step {self.state.step}: the validation loss is {loss}: lower budget.learning_rate")
        if self.state.best_loss is None or loss < self.state.best_loss:
            self.state.best = self._weights()
        self.state.validation.append((self.state.step, loss))
        watch.validated(self.state.step, loss)
        self.accelerator.log({"validation_loss": loss}, step=self.state.step)

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            checkpoint.write(self.folder, self.digest, self.state, self._weights(), self.optimizer.state_dict())
        self.accelerator.wait_for_everyone()


def _schedule(step: int, budget: Budget) -> float:
    """Linear warm-up, then linear decay to zero at the end of the budget."""
    if step < budget.warmup:
        return (step + 1) / budget.warmup
    return (budget.steps - step) / max(1, budget.steps - budget.warmup)
