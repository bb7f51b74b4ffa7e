"""The interceptor: rows, shared prefixes, attention, sampling and the plain reference loop."""

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
