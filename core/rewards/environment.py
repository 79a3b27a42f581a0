"""The environment's own reward, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from core.facts import Change
from core.rewards.base import NoParams, Strategy
from core.types import Floats, RewardComponent

if TYPE_CHECKING:
    from core.facts.columns import FactColumns


class EnvironmentOnly(Strategy[NoParams]):
    """Pays the environment's reward times lambda: the unshaped reward to compare others with."""

    name = "environment"
    version = 1
    aliases = ("environment_only", "env", "env_only")
    label = "Environment only"
    description = (
        "The environment's own reward for the decision's steps: 1.0 for a step that unlocks something, and 0.1 for "
        "each point of health gained or lost. Weights and limits do not count."
    )

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        if change.env_reward:
            yield RewardComponent("environment", "env_reward", change.env_reward, 1.0, change.env_reward)

    def values(self, columns: FactColumns) -> Floats:
        return columns.env_rewards
