"""Ended episodes as rows for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.types import EnvConfig, Limits, StopReason


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An ended episode with at least one decision. `created_at` is UTC."""

    id: str
    run_id: str
    policy: str
    policy_params: dict[str, Any]
    seed: int
    world_episode: int
    group_index: int
    created_at: datetime
    stop_reason: StopReason
    n_steps: int
    n_decisions: int
    n_achievements: int
    env_return: float
    shaped_return: float
    config_hash: str
    env: EnvConfig
    limits: Limits
    max_actions_per_call: int

    @property
    def group(self) -> tuple[str, int, int]:
        """Run, seed and world: the group of group-relative advantages."""
        return self.run_id, self.seed, self.world_episode

    @property
    def world(self) -> tuple[int, int]:
        """Episodes with the same seed and world start alike."""
        return self.seed, self.world_episode
