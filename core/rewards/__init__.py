"""Reward shaping: what a decision earns, by component.

`RewardShaper` scores the decisions of one episode; `checked_reward` validates a configuration; `to_document` and
`from_document` write and read the JSON that trainers use, `to_changes` writes its short form. A strategy is one class
in a file of its own, listed in `registry.py`.
"""

from __future__ import annotations

from core.rewards.config import checked_reward
from core.rewards.document import from_document, to_changes, to_document
from core.rewards.registry import STRATEGIES
from core.rewards.shaper import RewardShaper
from core.types import RewardComponent, RewardConfig, StateFacts

__all__ = [
    "STRATEGIES",
    "RewardComponent",
    "RewardConfig",
    "RewardShaper",
    "StateFacts",
    "checked_reward",
    "from_document",
    "to_changes",
    "to_document",
]
