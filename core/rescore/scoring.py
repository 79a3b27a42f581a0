"""What stored decisions would have earned under a reward configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """Every decision under `config`, with fresh credit counts in each episode. Raises InvalidReward.

    At once where the strategy can; else decision by decision, in the same arithmetic.
    """
    shaper = RewardShaper(config)
    base = shaper.base_values(columns)
    if base is None:
        rewards = np.array(
            [part.total for episode in range(columns.n_episodes) for part in breakdowns(columns, episode, config)]
        )
    else:
        rewards = base * shaper.config.effective_lambda
    return Scores(shaper.config, rewards, columns.sums(rewards))


def as_played(columns: FactColumns) -> Scores:
    """What was earned when it was played, under whatever configuration that was."""
    return Scores(None, columns.logged, columns.sums(columns.logged))


def breakdowns(columns: FactColumns, episode: int, config: RewardConfig) -> tuple[RewardBreakdown, ...]:
    """What each decision of one episode would have earned, in parts. Raises InvalidReward."""
    shaper = RewardShaper(config)
    return tuple(
        shaper.score(change.before, change.after, env_reward=change.env_reward, is_end=change.is_end)
        for change in columns.changes(episode)
    )


def responsible(columns: FactColumns, episode: int, before: Scores, after: Scores, most: int = 20) -> tuple[int, ...]:
    """The decisions of an episode whose reward changes, those that change most first; at most `most` of them."""
    its = columns.decisions_of(episode)
    change = np.abs(after.rewards[its] - before.rewards[its])
    order = np.argsort(-change, kind="stable")[:most]
    return tuple(int(at) for at in order if change[at] > _nothing(before.rewards[its], after.rewards[its]))


def _nothing(*values: Floats) -> float:
    """Differences up to this come from rounding."""
    return 1e-12 * max([1.0, *(float(np.max(np.abs(some))) for some in values if len(some))])
