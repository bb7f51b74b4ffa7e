"""How many slots fit into a share of the free memory, and what running out of it looks like.

Bytes per position are measured on the model itself (`Engine` writes a few positions when it checks itself); nothing
here guesses from a configuration. Knows nothing of rows or requests.
"""

from __future__ import annotations

import psutil
import torch

ROW_POSITIONS = 128  # positions that a row takes after the shared prefix; more grows the slots later
LOGIT_COPIES = 4  # float32 copies of one row of logits that sampling holds at a time


def free_bytes(device: torch.device) -> int:
    """Free memory of the device: the accelerator's own, or this machine's."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)


def bytes_per_row(bytes_per_position: int, vocabulary: int) -> int:
    """What one more slot costs: its own key/values and its row of logits."""
    return bytes_per_position * ROW_POSITIONS + 4 * vocabulary * LOGIT_COPIES


def slots_that_fit(share: float, device: torch.device, row: int, most: int) -> int:
    """As many slots of `row` bytes as fit into `share` (0..1) of the free memory, at least one and at most `most`."""
    return max(1, min(most, int(free_bytes(device) * share) // row))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch raised this because an allocation failed, on any device."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "not enough memory" in str(error)
