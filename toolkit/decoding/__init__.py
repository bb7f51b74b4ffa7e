"""The interceptor: rows, shared prefixes, attention, sampling and the plain reference loop.

Names are imported when they are used: requests and replies are plain data, and need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.decoding.interceptor import Interceptor
    from toolkit.decoding.policy import PAPER, STRICT, Policy
    from toolkit.decoding.prefix import Prefix
    from toolkit.decoding.reference import ReferenceLoop
    from toolkit.decoding.request import GREEDY, CallRecord, Limits, Reply, Request, Sampling

__all__ = [
    "GREEDY",
    "PAPER",
    "STRICT",
    "CallRecord",
    "Interceptor",
    "Limits",
    "Policy",
    "Prefix",
    "ReferenceLoop",
    "Reply",
    "Request",
    "Sampling",
]
HOMES = {
    "interceptor": ("Interceptor",),
    "policy": ("PAPER", "STRICT", "Policy"),
    "prefix": ("Prefix",),
    "reference": ("ReferenceLoop",),
    "request": ("GREEDY", "CallRecord", "Limits", "Reply", "Request", "Sampling"),
}


def __getattr__(name: str) -> Any:
    """Import a public name from the file that defines it."""
    home = next((file for file, names in HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'toolkit.decoding' has no attribute {name!r}")
    return getattr(import_module(f"toolkit.decoding.{home}"), name)
