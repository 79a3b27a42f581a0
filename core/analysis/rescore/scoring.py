"""What stored decisions would have earned under a reward configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.numbers import is_equal
from core.facts.columns import FactColumns
from core.rewards import RewardShaper
from core.types import RewardBreakdown, RewardConfig

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """rewards: float64 (N,), every decision's. returns: float64 (E,), every episode's. config: None as it was played.

    Both in the order of the columns that they were made from.
    """

    config: RewardConfig | None
    rewards: Floats
    returns: Floats


def score(columns: FactColumns, config: RewardConfig) -> Scores:
    """Every decision under `config`, with fresh credit counts in each episode.

    At once where the strategy can; else decision by decision, in the same arithmetic. Raises InvalidReward where the
    configuration is invalid or its strategy fails.
    """
    shaper = RewardShaper(config)
    base = shaper.base_values(columns)
    if base is None:
        rewards = _one_by_one(columns, config)
    else:
        rewards = base * shaper.config.effective_lambda
    return Scores(shaper.config, rewards, columns.sums(rewards))


def as_played(columns: FactColumns) -> Scores:
    """The rewards logged during play, under each episode's own configuration."""
    return Scores(None, columns.logged, columns.sums(columns.logged))


def breakdowns(columns: FactColumns, episode: int, config: RewardConfig) -> tuple[RewardBreakdown, ...]:
    """What each decision of one episode would have earned, in parts. Raises InvalidReward as `score` does."""
    shaper = RewardShaper(config)
    return tuple(
        shaper.score(change.before, change.after, env_reward=change.env_reward, is_end=change.is_end)
        for change in columns.changes(episode)
    )


def _one_by_one(columns: FactColumns, config: RewardConfig) -> Floats:
    rewards = np.zeros(columns.n_decisions)
    for episode in range(columns.n_episodes):
        rewards[columns.decisions_of(episode)] = [part.total for part in breakdowns(columns, episode, config)]
    return rewards


def responsible(columns: FactColumns, episode: int, before: Scores, after: Scores, most: int = 20) -> tuple[int, ...]:
    """The decisions of an episode whose reward changes, those that change most first; at most `most` of them."""
    its = columns.decisions_of(episode)
    old, new = before.rewards[its], after.rewards[its]
    changed = np.flatnonzero(~is_equal(old, new))
    change = np.abs(new[changed] - old[changed])
    return tuple(int(at) for at in changed[np.argsort(-change, kind="stable")[:most]])
