"""The environment's reward goes through as it is."""

from __future__ import annotations

from core.rewards import RewardComponent, RewardConfig, RewardShaper
from core.types import StateFacts


def test_it_pays_what_the_environment_paid_times_lambda():
    shaper = RewardShaper(RewardConfig("env", indicator_lambda=2.0))
    breakdown = shaper.score(StateFacts(), StateFacts(), env_reward=0.9)
    assert breakdown.components == (RewardComponent("environment", "env_reward", 0.9, 1.0, 0.9),)
    assert (breakdown.strategy, breakdown.total) == ("environment", 1.8)


def test_it_pays_nothing_where_the_environment_paid_nothing():
    after = StateFacts({"collect_wood": True}, {"wood": 3}, {"collect_wood": 3})
    assert RewardShaper(RewardConfig("environment")).score(StateFacts(), after).components == ()
