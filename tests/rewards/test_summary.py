"""The step-reward summary of an episode and the metrics of a rollout."""

from __future__ import annotations

import pytest

from core.rewards.summary import reward_summary, rollout_metrics
from core.rollout import NoRecorder, run_rollout
from core.types import EnvConfig, Episode, EpisodeSpec, Limits, PolicySpec, RewardConfig


@pytest.fixture(scope="module")
def episode() -> Episode:
    spec = EpisodeSpec(
        seed=42,
        policy=PolicySpec("random"),
        policy_seed=1,
        env=EnvConfig(area=(16, 16)),
        reward=RewardConfig(strategy="per_achievement", indicator_lambda=0, step_beta=0.5),
        limits=Limits(max_steps=300, max_decisions=300),
    )
    return run_rollout(spec, episode_id="a", run_id="b", recorder_for=lambda queued: NoRecorder())[0]


def test_a_summary_has_the_sums_the_achievements_in_order_and_the_configuration(episode: Episode):
    summary = reward_summary(episode.spec.reward, episode.decisions)
    assert summary.reward_sum == pytest.approx(episode.shaped_return)
    assert summary.indicator_sum == sum(d.reward.base > 0 or d.unlocked != () for d in episode.decisions) > 0
    assert summary.resource_reward < summary.reward_sum
    assert summary.new_achievements_total == summary.unique_achievements_total == len(episode.unlock_steps) > 0

    assert summary.unique_achievements == tuple(episode.unlock_steps)
    assert set(summary.final_achievements) == set(summary.unique_achievements)

    assert (summary.strategy, summary.effective_lambda, summary.step_beta) == ("per_achievement", 1.0, 0.5)


def test_an_episode_without_a_decision_earned_nothing():
    summary = reward_summary(RewardConfig(), ())
    assert (summary.reward_sum, summary.indicator_sum, summary.final_achievements) == (0, 0, ())


def test_metrics_of_a_rollout(episode: Episode):
    metrics = rollout_metrics([episode, episode])
    assert metrics.episode_returns == (episode.env_return,) * 2
    assert metrics.mean_return == pytest.approx(episode.env_return)
    assert metrics.num_steps == 2 * len(episode.decisions)
    assert rollout_metrics([]).mean_return is None
