"""The Lab's example shows what it is there for: a farmer that is ahead, until the number that pays it is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.analysis.rescore import score
from core.facts.columns import FactColumns
from core.rollout import NoRecorder, run_rollout
from core.types import Episode, RewardConfig
from pages.components.lab.shared.example import PLAYERS, SEEDS, run_of
from tests.support.facts import facts_of

DEFAULTS = RewardConfig("per_achievement")
NO_PAY = replace(DEFAULTS, achievement_count_weights=DEFAULTS.achievement_count_weights | {"collect_drink": 0.0})


def played(seed: int) -> list[Episode]:
    """The example's episodes in one of its worlds, the honest one first."""
    queued = [
        next(entry for entry in run_of(name, policy).episodes if entry.spec.seed == seed) for name, policy in PLAYERS
    ]
    return [
        episode
        for entry in queued
        for episode in run_rollout(
            entry.spec, episode_id=entry.id, run_id="example", recorder_for=lambda _: NoRecorder()
        )
    ]


def returns(episodes: list[Episode], config: RewardConfig) -> np.ndarray:
    return score(FactColumns([facts_of(episode) for episode in episodes]), config).returns


def test_the_farmer_is_ahead_with_fewer_achievements_until_drinking_pays_nothing():
    episodes = played(SEEDS[0])
    unlocked = [len(episode.unlock_steps) for episode in episodes]
    assert unlocked[1] < unlocked[0]
    honest, farmed = returns(episodes, DEFAULTS)
    assert farmed > honest + 5
    honest, farmed = returns(episodes, NO_PAY)
    assert farmed < honest - 5
