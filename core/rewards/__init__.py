"""Reward shaping: what a decision earns, in parts.

`RewardShaper` scores decisions of one episode; `checked` says whether a configuration can be used; `to_document` and
`from_document` are the JSON that trainers take, `to_changes` is the same in short. A strategy is one class in one file,
listed in `registry.py`.
"""

from __future__ import annotations

from core.rewards.document import from_document, to_changes, to_document
from core.rewards.registry import STRATEGIES
from core.rewards.shaper import RewardShaper
from core.rewards.validation import checked
from core.types import RewardBreakdown, RewardComponent, RewardConfig, StateFacts

__all__ = [
    "STRATEGIES",
    "RewardBreakdown",
    "RewardComponent",
    "RewardConfig",
    "RewardShaper",
    "StateFacts",
    "checked",
    "from_document",
    "to_changes",
    "to_document",
]
