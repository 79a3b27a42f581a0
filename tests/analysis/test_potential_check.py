"""Whether a shaping is the difference of a potential, and where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.next_resource import NextResource
from core.analysis.potential_check import CHOICES, PotentialCheck, Reading, check
from core.env import CrafterEnv
from core.facts.columns import FactColumns
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rewards.potentials import POTENTIALS
from core.rollout import NoRecorder, run_episode
from core.scenes import pack_scenes, read_packed
from core.types import Episode, EpisodeSpec, Limits, PolicySpec, RewardConfig, StopReason
from tests.support.facts import facts_of

GAMMA, SCALE = 0.97, 2.5


def played(config: RewardConfig, steps: int = 120) -> Episode:
    spec = EpisodeSpec(7, PolicySpec("scripted"), 1, reward=config, limits=Limits(max_steps=steps))
    policy = make_policy(spec.policy, seed=1, max_actions=5)
    episode = run_episode(spec, CrafterEnv(observe=False), policy, RewardShaper(config), NoRecorder())
    assert episode.stop_reason is StopReason.MAX_STEPS
    return episode


def compared(episode: Episode, potential: str, reading: Reading, **how: float) -> PotentialCheck:
    columns = FactColumns([facts_of(episode)])
    assert episode.initial is not None
    scenes = read_packed(pack_scenes([episode.initial.scene, *(step.state.scene for step in episode.steps)]))
    shaping = reading.shaping(columns.logged, columns.env_rewards)
    phi = POTENTIALS.get(potential) or NextResource(scenes)
    return check(shaping, phi.around(columns), is_end=columns.is_end, **how)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_an_episode_shaped_by_the_potential_does_not_deviate_from_it(potential: str):
    params = {"potential": potential, "gamma": GAMMA, "scale": SCALE}
    episode = played(RewardConfig("potential_based", params=params))
    found = compared(episode, potential, Reading.INSTEAD, gamma=GAMMA, scale=SCALE)
    assert found.ended
    assert np.abs(found.deviation).max() < 1e-9
    assert (found.largest, len(found.violations)) == (None, 0)
    assert found.best_scale == pytest.approx(SCALE)
    assert found.explained == pytest.approx(1.0)
    assert found.discounted_shaping == pytest.approx(found.discounted_expected)
    assert compared(episode, potential, Reading.ADDED, gamma=GAMMA, scale=SCALE).largest is not None


def test_default_rewards_are_not_potential_based_and_the_largest_deviation_is_found():
    episode = played(RewardConfig("per_achievement"))
    found = compared(episode, "achievements", Reading.ADDED)
    assert found.largest is not None
    worst = episode.decisions[found.largest]
    assert abs(found.deviation[found.largest]) == np.abs(found.deviation).max()
    assert found.shaping[found.largest] == worst.reward.total
    assert 0 < found.explained < 1


def test_every_potential_can_be_compared_with_an_episode():
    episode = played(RewardConfig("per_achievement"), steps=30)
    for name in CHOICES:
        assert len(compared(episode, name, Reading.ADDED).deviation) == len(episode.decisions)


BEFORE = np.array([0.0, 1.0, 1.0])
AFTER = np.array([1.0, 1.0, 3.0])


def of(shaping: list[float], ended: bool = True, gamma: float = 0.5, scale: float = 1.0) -> PotentialCheck:
    is_end = [False, False, ended]
    return check(np.array(shaping), (BEFORE, AFTER), is_end=is_end, gamma=gamma, scale=scale)


def test_the_potential_is_0_at_the_end_unless_the_episode_was_cut_off():
    assert of([0.0] * 3).expected.tolist() == [0.5, -0.5, -1.0]
    assert of([0.0] * 3, ended=False).expected.tolist() == [0.5, -0.5, 0.5]


def test_deviations_are_counted_and_summed_and_the_largest_is_found():
    found = of([0.5, -0.25, -1.75])
    assert found.deviation.tolist() == [0.0, 0.25, -0.75]
    assert found.violations.tolist() == [1, 2]
    assert (found.largest, found.total_deviation) == (2, 1.0)
    assert found.largest_before_end == 1
    assert of([0.5, -0.5, -1.75]).largest_before_end is None


def test_discounted_sums():
    assert of([0.0] * 3).discounted_expected == -BEFORE[0]
    assert of([4.0, 2.0, 1.0]).discounted_shaping == 4.0 + 1.0 + 0.25


def test_the_best_scale_has_the_least_squared_deviation():
    found = of([1.0, -1.0, -2.0])
    assert (found.best_scale, found.explained) == (pytest.approx(2.0), pytest.approx(1.0))
    around_best = [float(np.sum(of([1.0, 3.0, -1.0], scale=s).deviation ** 2)) for s in (-0.1, 0.0, 0.1)]
    best = of([1.0, 3.0, -1.0])
    assert best.best_scale == pytest.approx(0.0)
    assert around_best[1] == min(around_best)


def test_a_potential_that_never_changes_has_no_best_scale():
    still = check(np.array([1.0, 0.0]), (np.zeros(2), np.zeros(2)), is_end=[False, True])
    assert still.best_scale is None
    assert still.explained == 0.0


def test_an_episode_without_decisions_has_no_deviation():
    nothing = check(np.zeros(0), (np.zeros(0), np.zeros(0)), is_end=[])
    assert (nothing.largest, nothing.total_deviation, nothing.ended, nothing.best_scale) == (None, 0.0, False, None)
