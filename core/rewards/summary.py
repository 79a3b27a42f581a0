"""Sums of an episode's step rewards and metrics of a rollout, as trainers expect them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from core.types import Decision, Episode, RewardConfig


@dataclass(frozen=True, slots=True)
class RewardSummary:
    """The step rewards of one episode, with their configuration.

    indicator_sum: the number of decisions with a positive reward or an unlock. reward_sum: the shaped return.
    resource_reward: its inventory and achievement-count part, before lambda. new_achievements_total: unlocks, counted
    per decision. unique_achievements: in the order of their unlocks. final_achievements: true in the last state, in
    Crafter's order.
    """

    indicator_sum: int
    reward_sum: float
    resource_reward: float
    new_achievements_total: int
    mode: str
    strategy: str
    effective_lambda: float
    step_beta: float
    weights: dict[str, float]
    k_limits: dict[str, int]
    unique_achievements: tuple[str, ...]
    unique_achievements_total: int
    final_achievements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RolloutMetrics:
    """Metrics over the episodes of one rollout, as trainers expect them: a step is a decision.

    episode_returns: the environment's. mean_return: None without an episode. outcome_score, events_score: from
    rubrics; None until judged.
    """

    episode_returns: tuple[float, ...]
    mean_return: float | None
    num_steps: int
    num_episodes: int
    outcome_score: float | None = None
    events_score: float | None = None


def reward_summary(config: RewardConfig, decisions: Sequence[Decision]) -> RewardSummary:
    unique = tuple(name for decision in decisions for name in decision.unique_unlocked)
    final = decisions[-1].after.achievements if decisions else {}
    return RewardSummary(
        indicator_sum=sum(decision.reward.indicator for decision in decisions),
        reward_sum=math.fsum(decision.reward.total for decision in decisions),
        resource_reward=math.fsum(decision.reward.resource_reward for decision in decisions),
        new_achievements_total=sum(len(decision.unlocked) for decision in decisions),
        mode=config.mode,
        strategy=config.strategy,
        effective_lambda=config.effective_lambda,
        step_beta=config.step_beta,
        weights=dict(config.weights),
        k_limits=dict(config.k_limits),
        unique_achievements=unique,
        unique_achievements_total=len(unique),
        final_achievements=tuple(name for name, unlocked in final.items() if unlocked),
    )


def rollout_metrics(episodes: Sequence[Episode]) -> RolloutMetrics:
    returns = tuple(episode.env_return for episode in episodes)
    return RolloutMetrics(
        episode_returns=returns,
        mean_return=fmean(returns) if returns else None,
        num_steps=sum(len(episode.decisions) for episode in episodes),
        num_episodes=len(episodes),
    )
