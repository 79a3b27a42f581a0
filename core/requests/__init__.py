"""Rollouts that other programs ask for: what they send, the run that answers it, and what they get back."""

from __future__ import annotations

from core.requests.planning import PlannedRollout, plan_request
from core.requests.request import MAX_BYTES, ReadRequest, RolloutRequest, read_request, request_from
from core.requests.response import RolloutResponse, answer

__all__ = [
    "MAX_BYTES",
    "PlannedRollout",
    "ReadRequest",
    "RolloutRequest",
    "RolloutResponse",
    "answer",
    "plan_request",
    "read_request",
    "request_from",
]
