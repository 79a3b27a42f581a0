"""Replay reproduces an episode and locates the first difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core import replay
from core.rollout import NoRecorder, run_rollout
from core.types import EnvConfig, Episode, EpisodeSpec, Limits, PolicySpec


@pytest.fixture(scope="module")
def episode() -> Episode:
    spec = EpisodeSpec(
        seed=3,
        policy=PolicySpec("random"),
        policy_seed=5,
        env=EnvConfig(area=(24, 24)),
        limits=Limits(max_steps=60, max_decisions=60),
    )
    return run_rollout(spec, episode_id="a", run_id="b", recorder_for=lambda queued: NoRecorder())[0]


def test_a_recorded_episode_replays_exactly(episode: Episode):
    result = replay.check(episode)
    assert result.exact
    assert result.frames == episode.length + 1
    assert "exact" in result.sentence


def test_a_changed_action_is_found_at_its_frame(episode: Episode):
    changed_at = 20
    decisions = list(episode.decisions)
    index = next(i for i, d in enumerate(decisions) if d.steps and d.steps[-1].index >= changed_at)
    steps = tuple(
        replace(step, action="sleep" if step.action != "sleep" else "noop") for step in decisions[index].steps
    )
    decisions[index] = replace(decisions[index], steps=steps)
    result = replay.check(replace(episode, decisions=tuple(decisions)))
    assert not result.exact
    assert result.diverged_at is not None and result.diverged_at >= steps[0].index + 1
    assert "diverged" in result.sentence


def test_another_seed_diverges_at_once(episode: Episode):
    result = replay.check(replace(episode, spec=replace(episode.spec, seed=4)))
    assert result.diverged_at == 0


def test_an_episode_without_a_world_has_nothing_to_compare(episode: Episode):
    result = replay.check(replace(episode, initial=None, decisions=()))
    assert result.frames == 0
