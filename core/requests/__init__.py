"""Rollouts that other programs ask for: what they send, the run that answers it, and what they get back."""

from __future__ import annotations

from core.requests.planning import PlannedRollout, plan_request, policy_by_name, policy_spec, read_reward
from core.requests.request import (
    MAX_BYTES,
    PolicyOptions,
    ReadRequest,
    RequestedPolicy,
    RolloutRequest,
    SafetyOptions,
    checked_json,
    read_request,
    request_from,
)
from core.requests.response import RolloutResponse, answer

__all__ = [
    "MAX_BYTES",
    "PlannedRollout",
    "PolicyOptions",
    "ReadRequest",
    "RequestedPolicy",
    "RolloutRequest",
    "RolloutResponse",
    "SafetyOptions",
    "answer",
    "checked_json",
    "plan_request",
    "policy_by_name",
    "policy_spec",
    "read_reward",
    "read_request",
    "request_from",
]
