"""Episodes of agents that step an environment themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import crafter
import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

from core import replay
from core.env import CrafterEnv
from core.env.rules import ACTIONS
from core.errors import InvalidInput
from core.record import RecordEpisodes
from core.rewards import RewardConfig
from core.store import TraceStore
from core.types import EpisodeStatus, RunSource, StopReason
from tests.support.launches import wait_for

SMALL = {"area": (24, 24), "length": 12}


def play(env: gymnasium.Env[Any, Any], episodes: int = 1, seed: int | None = 3) -> None:
    """Random actions until that many episodes are over."""
    draw = np.random.default_rng(1)
    for number in range(episodes):
        env.reset(seed=seed if number == 0 else None)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(int(draw.integers(len(ACTIONS))))
            done = terminated or truncated


def test_a_recorded_episode_is_what_was_played(sqlite_store: TraceStore):
    env = RecordEpisodes(CrafterEnv(**SMALL), sqlite_store, "my-ppo", RewardConfig("per_achievement"))
    play(env, episodes=2)
    env.close()
    run = sqlite_store.runs.get(env.run_id)
    assert (run.source, run.name, run.n_episodes) == (RunSource.RECORDED, "my-ppo", 2)
    first, second = (sqlite_store.episodes.load(row.id) for row in sqlite_store.runs.episodes(run.id).rows)
    assert (first.spec.seed, first.spec.world_episode, second.spec.world_episode) == (3, 1, 2)
    assert (first.stop_reason, first.length, len(first.decisions)) == (StopReason.TRUNCATED, 12, 12)
    assert all(len(decision.steps) == 1 for decision in first.decisions)
    for episode in (first, second):
        assert replay.check(episode).exact
    assert first.shaped_return == pytest.approx(sum(d.reward.total for d in first.decisions))


def test_the_agent_sees_what_it_would_see_without_the_wrapper(sqlite_store: TraceStore):
    recorded, plain = RecordEpisodes(CrafterEnv(**SMALL), sqlite_store, "a"), CrafterEnv(**SMALL)
    assert np.array_equal(recorded.reset(seed=5)[0], plain.reset(seed=5)[0])
    for action in (1, 5, 2, 5, 0):
        ours, theirs = recorded.step(action), plain.step(action)
        assert np.array_equal(ours[0], theirs[0]) and ours[1:4] == theirs[1:4]


def test_every_nth_episode_is_recorded(sqlite_store: TraceStore):
    env = RecordEpisodes(CrafterEnv(**SMALL), sqlite_store, "a", every=3)
    play(env, episodes=5)
    env.flush()
    assert [row.world_episode for row in sqlite_store.runs.episodes(env.run_id).rows] == [1, 4]


def test_steps_can_be_grouped_into_a_decision_with_what_the_agent_says_of_it(sqlite_store: TraceStore):
    env = RecordEpisodes(CrafterEnv(**SMALL), sqlite_store, "a")
    env.reset(seed=3)
    call = {"name": "interact", "arguments": {"actions": ["noop", "do"]}, "id": "c1"}
    info = {"entropy": 0.5, "p": np.array([0.25, 0.75]), "text": "x", "bad": float("nan")}
    messages = [{"role": "user", "content": "act"}]
    with env.decision(messages=messages, tool_calls=[call], value=1.5, logprob=-2, info=info, model="tiny"):
        env.step(0)
        env.step(5)
    env.note(value=2.5, entropy=0.1)
    env.step(0)
    env.step(0)
    env.close()
    (row,) = sqlite_store.runs.episodes(env.run_id).rows
    grouped, noted, plain = sqlite_store.episodes.load(row.id).decisions
    assert grouped.actions == ("noop", "do") == grouped.tool_calls[0].actions
    assert (grouped.value, grouped.logprob) == (1.5, -2.0)
    assert grouped.numbers == {"entropy": 0.5, "p[0]": 0.25, "p[1]": 0.75}
    assert grouped.model_call is not None and grouped.model_call.request["messages"] == messages
    assert (noted.value, noted.numbers, noted.model_call) == (2.5, {"entropy": 0.1}, None)
    assert (plain.value, plain.numbers) == (None, {})
    assert (row.status, row.error and row.error.kind) == (EpisodeStatus.ABORTED, "not_finished")


def test_an_episode_may_end_or_be_reset_within_a_decision(sqlite_store: TraceStore):
    env = RecordEpisodes(CrafterEnv(area=(24, 24), length=2), sqlite_store, "a")
    env.reset(seed=3)
    with env.decision(value=1.0):
        env.step(0)
        env.step(0)
        env.reset()
        env.step(0)
    env.step(0)
    env.flush()
    first, second = sqlite_store.runs.episodes(env.run_id).rows
    assert [d.value for d in sqlite_store.episodes.load(first.id).decisions] == [1.0]
    assert (first.stop_reason, second.stop_reason) == (StopReason.TRUNCATED, StopReason.TRUNCATED)
    assert [len(d.steps) for d in sqlite_store.episodes.load(second.id).decisions] == [1, 1]


def test_upstreams_environment_is_recorded_without_a_proof(sqlite_store: TraceStore):
    upstream = crafter.Env(area=(24, 24), length=30, seed=7)
    env = RecordEpisodes(upstream, sqlite_store, "a")
    play(env, seed=None)
    env.close()
    (row,) = sqlite_store.runs.episodes(env.run_id).rows
    episode = sqlite_store.episodes.load(row.id)
    assert (episode.length, row.spec.seed, row.spec.world_episode) == (30, 7, 1)
    assert row.spec.engine_version.endswith("/upstream")
    assert "simulated again" in replay.check(episode).sentence
    scene = episode.steps[-1].state.scene
    assert scene.is_known and scene.inventory == {name: int(n) for name, n in upstream._player.inventory.items()}
    assert any(sprite.texture.startswith("player") and (sprite.x, sprite.y) == (4, 3) for sprite in scene.sprites)


def test_other_environments_are_refused(sqlite_store: TraceStore):
    with pytest.raises(InvalidInput, match="CartPoleEnv"):
        RecordEpisodes(gymnasium.make("CartPole-v1"), sqlite_store, "a")
    with pytest.raises(InvalidInput, match="every is 0"):
        RecordEpisodes(CrafterEnv(**SMALL), sqlite_store, "a", every=0)


def make_recorded(url: str, run_id: str) -> gymnasium.Env[Any, Any]:
    return RecordEpisodes(CrafterEnv(observe=False, **SMALL), url, "vector", run_id=run_id)


def test_environments_in_processes_of_their_own_share_a_run(sqlite_store: TraceStore, sqlite_url: str):
    envs = AsyncVectorEnv([partial(make_recorded, sqlite_url, "shared")] * 2)
    envs.reset(seed=[1, 2])
    for _ in range(14):
        envs.step(np.zeros(2, np.int64))
    envs.close()
    rows = sqlite_store.runs.episodes("shared").rows
    assert {row.seed for row in rows} == {1, 2}
    assert sorted(row.n_decisions for row in rows)[-2:] == [12, 12]
    assert all(row.status.is_over for row in rows)


def test_a_store_that_cannot_be_written_never_stops_the_agent(tmp_path: Path):
    missing = tmp_path / "no" / "folder"
    (tmp_path / "no").write_text("a file")
    env = RecordEpisodes(CrafterEnv(**SMALL), f"sqlite:///{missing}.db", "a")
    with pytest.warns(RuntimeWarning, match="the agent goes on"):
        play(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(env)
    assert env.failures == 2


class Odd(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Plays each action `times` and pays ten times."""

    times = 1

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        results = [self.env.step(action) for _ in range(self.times)]
        observation, reward, terminated, truncated, info = results[-1]
        return observation, float(reward) * 10, terminated, truncated, info


class Left(gymnasium.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> int:
        return 1


@pytest.mark.parametrize("wrapper", [Left, gymnasium.wrappers.Autoreset])
def test_wrappers_that_change_actions_or_reset_belong_outside(sqlite_store: TraceStore, wrapper: Any):
    with pytest.raises(InvalidInput, match="Make it the inner one"):
        RecordEpisodes(wrapper(CrafterEnv()), sqlite_store, "p")


def test_the_reward_is_crafters_whatever_a_wrapper_inside_pays(sqlite_store: TraceStore):
    env = RecordEpisodes(Odd(CrafterEnv(length=60, observe=False)), sqlite_store, "p")
    play(env)
    (row,) = sqlite_store.episodes.page().rows
    assert replay.check(sqlite_store.episodes.load(row.id)).exact
    plain = CrafterEnv(length=60, observe=False)
    plain.reset(seed=3)
    actions = [step.action for step in sqlite_store.episodes.load(row.id).steps]
    assert row.env_return == pytest.approx(sum(float(plain.step(ACTIONS.index(action))[1]) for action in actions))


def test_an_environment_that_skips_frames_inside_is_not_recorded(sqlite_store: TraceStore):
    inner = Odd(CrafterEnv(length=60, observe=False))
    inner.times = 4
    env = RecordEpisodes(inner, sqlite_store, "p")
    with pytest.warns(RuntimeWarning, match="takes several steps at once"):
        play(env)
    env.flush()
    assert env.failures == 1
    assert [row.status for row in sqlite_store.episodes.page().rows] == [EpisodeStatus.ABORTED]


def test_messages_that_json_cannot_hold_become_text(sqlite_store: TraceStore):
    env = RecordEpisodes(CrafterEnv(length=20, observe=False), sqlite_store, "p")
    env.reset(seed=1)
    calls = [{"name": "interact", "arguments": {(1, 2): 3}}]
    with env.decision(messages=[{"role": "user", "content": np.arange(3)}], tool_calls=calls):
        env.step(0)
    env.close()
    (row,) = sqlite_store.episodes.page().rows
    (decision,) = sqlite_store.episodes.load(row.id).decisions
    assert decision.model_call is not None and decision.model_call.request["messages"][0]["content"] == "[0 1 2]"
    assert env.failures == 0


def test_a_stop_on_the_dashboard_ends_the_recording_only(sqlite_store: TraceStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.record.HEARTBEAT_S", 0.02)
    env = RecordEpisodes(CrafterEnv(area=(24, 24)), sqlite_store, "a")
    env.reset(seed=3)
    env.step(0)
    (row,) = sqlite_store.runs.episodes(env.run_id).rows
    sqlite_store.queue.request_stop(episode_id=row.id)

    def stopped() -> bool:
        env.step(0)
        env.flush()
        return sqlite_store.episodes.get(row.id).status is EpisodeStatus.ABORTED

    wait_for("the end of the recording", stopped)
    recorded = sqlite_store.episodes.get(row.id).n_steps
    env.step(0)
    env.flush()
    assert sqlite_store.episodes.get(row.id).n_steps == recorded


SLOW_AGENT = """
import sys, time
from core.env import CrafterEnv
from core.record import RecordEpisodes
import core.record
core.record.HEARTBEAT_S = 0.1
env = RecordEpisodes(CrafterEnv(area=(24, 24)), sys.argv[1], "slow")
env.reset(seed=1)
for _ in range(5):
    env.step(0)
env.flush()
print(env.run_id, flush=True)
time.sleep(600)
"""


def test_a_long_pause_keeps_an_episode_and_a_killed_process_interrupts_it(sqlite_store: TraceStore, sqlite_url: str):
    command = [sys.executable, "-c", SLOW_AGENT, sqlite_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as agent:
        assert agent.stdout is not None
        run_id = agent.stdout.readline().strip()
        (row,) = sqlite_store.runs.episodes(run_id).rows
        time.sleep(0.6)
        assert sqlite_store.queue.interrupt_stale(older_than_s=0.5) == ()
        os.kill(agent.pid, signal.SIGKILL)
    time.sleep(0.6)
    assert sqlite_store.queue.interrupt_stale(older_than_s=0.5) == (row.id,)
    assert sqlite_store.episodes.get(row.id).n_decisions == 5
