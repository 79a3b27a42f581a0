"""What stored decisions would have earned under another reward configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.tolerance import is_equal
from core.facts.columns import FactColumns
from core.rewards import RewardShaper
from core.types import Floats, RewardBreakdown, RewardConfig


@dataclass(frozen=True)
class Scores:
    """rewards: float64 (N,), of each decision. returns: float64 (E,), of each episode. config: None as played."""

    config: RewardConfig | None
    rewards: Floats
    returns: Floats


def score(columns: FactColumns, config: RewardConfig) -> Scores:
    """Scores every decision under `config`, with fresh credit counts in each episode.

    All at once if the strategy can; else decision by decision, in the same arithmetic. Raises InvalidReward if the
    configuration is invalid or its strategy fails.
    """
    shaper = RewardShaper(config)
    base = shaper.base_values(columns)
    if base is None:
        totals = [part.total for at in range(columns.n_episodes) for part in breakdowns(columns, at, config)]
        rewards = np.array(totals, np.float64)
    else:
        rewards = base * shaper.config.effective_lambda
    return Scores(shaper.config, rewards, columns.sums(rewards))


def as_played(columns: FactColumns) -> Scores:
    """The rewards logged during play, under each episode's own configuration."""
    return Scores(None, columns.logged, columns.sums(columns.logged))


def breakdowns(columns: FactColumns, episode: int, config: RewardConfig) -> tuple[RewardBreakdown, ...]:
    """The reward of each decision of one episode, by component. Raises InvalidReward as `score` does."""
    shaper = RewardShaper(config)
    return tuple(
        shaper.score(change.before, change.after, env_reward=change.env_reward, is_end=change.is_end)
        for change in columns.changes(episode)
    )


def most_changed_decisions(
    columns: FactColumns, episode: int, before: Scores, after: Scores, *, max_decisions: int
) -> tuple[int, ...]:
    """The at most `max_decisions` decisions of an episode whose rewards change most, the largest change first."""
    own = columns.decisions_of(episode)
    old, new = before.rewards[own], after.rewards[own]
    changed = np.flatnonzero(~is_equal(old, new))
    change = np.abs(new[changed] - old[changed])
    return tuple(int(at) for at in changed[np.argsort(-change, kind="stable")[:max_decisions]])
