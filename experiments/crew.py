"""The processes that work on one run together, as `accelerate launch` or `torchrun` starts them.

Each process answers its share of the items into a shard folder of its own; process 0 holds the run's lock from before
the first answer until all shards are merged, so strangers stay out. Knows nothing of samples; imports torch only where
there is more than one process.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

PATIENCE = timedelta(days=30)  # how long a process waits for a slower one: as long as the run takes


@dataclass(frozen=True)
class Crew:
    """The process that this is: `rank` of `size`."""

    rank: int = 0
    size: int = 1

    @property
    def alone(self) -> bool:
        """Whether this is the only process."""
        return self.size == 1

    def takes(self, item_id: str) -> bool:
        """Whether an item is this process's, by a hash of its id: the same for every start with as many processes."""
        return (
            self.alone or int.from_bytes(hashlib.sha256(item_id.encode()).digest()[:8], "big") % self.size == self.rank
        )

    def join(self) -> None:
        """Meet the others and take this process's accelerator. Messages are small, so they go by the processor."""
        import torch

        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.distributed.init_process_group("gloo", timeout=PATIENCE)

    def from_first(self, value: Any = None) -> Any:
        """The value that process 0 gives; every process must call this."""
        import torch

        values = [value]
        torch.distributed.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes by rank; every process must call this."""
        import torch

        values: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(values, value)
        return values

    def leave(self) -> None:
        """Part from the others."""
        import torch

        torch.distributed.destroy_process_group()


def crew_of_environment() -> Crew:
    """The crew that the launcher's environment describes; alone without a launcher."""
    return Crew(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))
