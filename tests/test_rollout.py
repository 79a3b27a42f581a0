"""Limits, stops and failures of every kind end an episode with the right reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.env.rules import ACTIONS
from core.env.simulation import Simulation
from core.errors import PolicyError, RolloutError
from core.facts import Change
from core.policies import BudgetSpent
from core.policies.tools import RawCall, read_tool_calls
from core.rewards import STRATEGIES, RewardComponent, RewardShaper
from core.rewards.base import NoParams, Strategy
from core.rollout import NoRecorder, run_episode, run_rollout
from core.types import (
    Decision,
    EnvConfig,
    Episode,
    EpisodeSpec,
    EpisodeStatus,
    Limits,
    OnDone,
    Outcome,
    PolicyReply,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    StateRecord,
    StopReason,
    ToolCall,
)

SPEC = EpisodeSpec(
    seed=42,
    policy=PolicySpec("random"),
    policy_seed=1,
    env=EnvConfig(area=(16, 16)),
    reward=RewardConfig(strategy="per_achievement"),
    limits=Limits(max_steps=20, max_decisions=10),
)


NOOP = PolicyReply((ToolCall("interact", "{}", actions=("noop",)),))


@dataclass
class Plays:
    """A policy that replies with the same actions each time, or with what `answer` returns."""

    actions: tuple[str, ...] = ("noop",)
    answer: Callable[[int], PolicyReply] | None = None
    name: str = "plays"
    asked: int = 0
    histories: list[int] = field(default_factory=list)

    def reset(self, seed: int) -> None:
        self.asked = 0

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        self.asked += 1
        self.histories.append(len(history))
        if self.answer:
            return self.answer(self.asked)
        return PolicyReply((ToolCall("interact", "{}", actions=self.actions),))

    def close(self) -> None:
        pass


@dataclass
class Notes:
    """A recorder that lists its calls."""

    calls: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    outcome: Outcome | None = None

    def start(self, started_at: datetime, initial: StateRecord) -> None:
        assert started_at.tzinfo is not None
        self.calls.append("start")

    def record(self, decision: Decision) -> None:
        self.calls.append("record")
        self.decisions.append(decision)

    def finish(self, outcome: Outcome) -> None:
        self.calls.append("finish")
        self.outcome = outcome


def play(policy: Any, spec: EpisodeSpec = SPEC, **more: Any) -> Episode:
    env = CrafterEnv.from_config(spec.env, observe=False)
    more.setdefault("recorder", NoRecorder())
    return run_episode(spec, env, policy, RewardShaper(spec.reward), **more)


def limited(**limits: Any) -> EpisodeSpec:
    return replace(SPEC, limits=replace(SPEC.limits, **limits))


def test_the_recorder_gets_everything_in_order():
    notes = Notes()
    episode = play(Plays(), recorder=notes)
    assert notes.calls == ["start"] + ["record"] * 10 + ["finish"]
    assert tuple(notes.decisions) == episode.decisions
    assert notes.outcome == episode.outcome


@dataclass
class Waits(Plays):
    """A policy that waits for an answer that never comes, until its time is over."""

    clock: Callable[[], float] = time.monotonic
    deadline_s: float = 0.0

    def set_limits(
        self,
        time_left_s: float,
        should_stop: Callable[[], bool],
        budget_spent: BudgetSpent,
    ) -> None:
        self.deadline_s = self.clock() + time_left_s

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        if self.asked < 2:
            return super().decide(observation, history)
        while self.clock() < self.deadline_s:
            time.sleep(0.01)
        raise PolicyError("out_of_time", "The model had not answered when the time of the rollout was over.")


def test_a_waiting_policy_gets_the_remaining_time_and_ends_by_the_time_limit():
    episode = play(Waits(), limited(max_time_s=0.5))
    assert (episode.stop_reason, episode.status) == (StopReason.MAX_SECONDS, EpisodeStatus.COMPLETED)
    assert episode.length == 2
    assert [decision.error for decision in episode.decisions] == [None] * 3
    assert episode.decisions[-1].warning == "The model had not answered when the time of the rollout was over."


def test_the_step_limit_cuts_a_decision_and_records_what_was_not_executed():
    episode = play(Plays(("noop", "move_left", "move_up")), limited(max_steps=5))
    assert episode.stop_reason is StopReason.MAX_STEPS
    assert episode.decisions[-1].actions == ("noop", "move_left")
    assert episode.decisions[-1].not_executed == ("move_up",)


@pytest.mark.parametrize(
    ("limit", "value", "reason", "steps"),
    [
        ("max_decisions", 3, StopReason.MAX_DECISIONS, [1, 1, 1]),
        ("max_ops", 5, StopReason.MAX_OPS, [1, 1, 0]),  # policy calls and environment turns
        ("ops_given", 4, StopReason.OPS_DONE, [1, 1]),
    ],
)
def test_a_counted_limit_ends_an_episode(limit: str, value: int, reason: StopReason, steps: list[int]):
    episode = play(Plays(), limited(**{limit: value}))
    assert (episode.stop_reason, episode.status) == (reason, EpisodeStatus.COMPLETED)
    assert [len(decision.steps) for decision in episode.decisions] == steps


def test_the_time_limit_is_checked_between_steps():
    ticks = iter(range(1_000_000))
    episode = play(Plays(("noop",) * 5), limited(max_time_s=30.0), clock=lambda: float(next(ticks)))
    assert episode.stop_reason is StopReason.MAX_SECONDS
    assert 0 < episode.length < 20


def test_a_stop_request_is_checked_between_steps():
    asked = iter([False, False, True])
    episode = play(Plays(("noop",) * 5), should_stop=lambda: next(asked))
    assert episode.stop_reason is StopReason.ABORTED
    assert episode.status is EpisodeStatus.ABORTED
    assert episode.length == 2
    assert episode.decisions[0].not_executed == ("noop",) * 3


def test_the_environments_length_truncates():
    spec = replace(SPEC, env=replace(SPEC.env, length=4))
    episode = play(Plays(("noop",) * 3), spec)
    assert episode.stop_reason is StopReason.TRUNCATED
    assert episode.length == 4
    assert episode.steps[-1].truncated
    assert not episode.steps[-1].terminated
    assert episode.decisions[-1].not_executed == ("noop", "noop")


def test_death_terminates_and_nothing_is_played_after_it():
    spec = replace(SPEC, limits=Limits(max_steps=5000, max_decisions=5000))
    episode = play(Plays(("noop",) * 5), spec)
    assert episode.stop_reason is StopReason.TERMINATED
    assert episode.steps[-1].terminated
    assert not any(step.terminated for step in episode.steps[:-1])


def test_a_reply_without_tool_call_fails_the_episode_and_keeps_earlier_decisions():
    episode = play(Plays(answer=lambda asked: PolicyReply(()) if asked == 3 else NOOP))
    assert episode.stop_reason is StopReason.NO_TOOL_CALL
    assert episode.status is EpisodeStatus.FAILED
    assert episode.length == 2
    assert episode.decisions[-1].error is not None
    assert episode.decisions[-1].steps == ()


def test_a_call_without_a_valid_action_fails_the_episode():
    reply = read_tool_calls([RawCall("interact", '{"actions": ["fly"]}')], max_actions=5)
    episode = play(Plays(answer=lambda asked: reply))
    assert episode.stop_reason is StopReason.INVALID_ACTION
    assert episode.length == 0
    assert episode.decisions[0].tool_calls[0].dropped[0].name == "fly"


@pytest.mark.parametrize(
    ("raised", "kind"), [(PolicyError("timeout", "No answer in 60 s."), "timeout"), (ValueError("odd"), "ValueError")]
)
def test_a_policy_that_raises_fails_the_episode(raised: Exception, kind: str):
    def answer(asked: int) -> PolicyReply:
        if asked == 2:
            raise raised
        return NOOP

    episode = play(Plays(answer=answer))
    assert episode.stop_reason is StopReason.POLICY_ERROR
    assert episode.outcome and episode.outcome.error and episode.outcome.error.kind == kind
    assert episode.length == 1


def test_an_environment_error_keeps_the_steps_before_it(monkeypatch: pytest.MonkeyPatch):
    def fail(self: Simulation, action: int) -> Any:
        if self.step_count == 4:
            raise RuntimeError("no ground")
        return advance(self, action)

    advance = Simulation.advance
    monkeypatch.setattr(Simulation, "advance", fail)
    episode = play(Plays(("noop",) * 3))
    assert episode.stop_reason is StopReason.ENV_ERROR
    assert episode.length == 4
    assert episode.decisions[-1].not_executed == ("noop", "noop")
    assert episode.outcome and episode.outcome.error and "no ground" in episode.outcome.error.detail


def test_a_world_that_cannot_be_made_fails_the_episode():
    notes = Notes()
    episode = play(Plays(), replace(SPEC, seed=-1), recorder=notes)
    assert episode.stop_reason is StopReason.ENV_ERROR
    assert episode.initial is None
    assert notes.calls == ["finish"]


class Fickle(Strategy[NoParams]):
    """Pays 1 for each decision, and fails after `fails_at` of them."""

    name, version, label, description = "fickle", 1, "Fickle", "Fails on purpose."
    fails_at = 2

    def __init__(self, config: RewardConfig, params: NoParams) -> None:
        super().__init__(config, params)
        self._scored = 0
        if self.fails_at < 0:
            raise RuntimeError("no table")

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        self._scored += 1
        if self._scored > self.fails_at:
            raise ZeroDivisionError("nothing was collected")
        yield RewardComponent("bonus", "step", 1, 1.0, 1.0)


FICKLE = replace(SPEC, reward=RewardConfig("fickle"))


@pytest.fixture
def fickle(monkeypatch: pytest.MonkeyPatch) -> type[Fickle]:
    own = type("OwnFickle", (Fickle,), {})
    monkeypatch.setitem(STRATEGIES, "fickle", own)
    return own


def test_a_reward_strategy_that_raises_fails_the_episode_and_keeps_the_decision(fickle: type[Fickle]):
    notes = Notes()
    episode = play(Plays(("noop", "noop")), FICKLE, recorder=notes)
    assert episode.stop_reason is StopReason.REWARD_ERROR
    assert episode.status is EpisodeStatus.FAILED
    assert [decision.reward.total for decision in notes.decisions] == [1.0, 1.0, 0.0]
    failed = notes.decisions[-1]
    assert len(failed.steps) == 2
    assert failed.reward.strategy == "fickle" and failed.reward.components == ()
    assert failed.error == notes.outcome.error if notes.outcome else False
    assert failed.error and '"fickle" at decision 2 failed' in failed.error.detail
    assert "nothing was collected" in failed.error.detail
    assert failed.error.where.endswith(" in components")


def test_a_strategys_error_comes_after_the_policys_but_before_a_limit(fickle: type[Fickle]):
    fickle.fails_at = 0
    assert play(Plays(answer=lambda asked: PolicyReply(())), FICKLE).stop_reason is StopReason.NO_TOOL_CALL
    one_step = replace(FICKLE, limits=replace(FICKLE.limits, max_steps=1))
    assert play(Plays(("noop", "noop")), one_step).stop_reason is StopReason.REWARD_ERROR


def test_a_strategy_that_cannot_be_made_fails_the_episode(fickle: type[Fickle]):
    fickle.fails_at = -1
    notes = Notes()
    (episode,) = run_rollout(FICKLE, episode_id="e", run_id="r", recorder_for=lambda queued: notes)
    assert notes.calls == ["finish"]
    assert episode.stop_reason is StopReason.REWARD_ERROR
    assert (episode.id, episode.run_id, episode.spec, episode.length) == ("e", "r", FICKLE, 0)
    assert episode.outcome and episode.outcome.error and "no table" in episode.outcome.error.detail
    with pytest.raises(RolloutError, match="reward_error"):
        run_rollout(FICKLE, episode_id="e", run_id="r", recorder_for=lambda queued: Notes(), on_error="raise")


def test_a_limit_reached_before_the_first_step_is_a_failure_by_that_limit():
    ticks = iter(range(0, 1_000_000, 100))
    notes = Notes()
    episode = play(Plays(), limited(max_time_s=50.0), clock=lambda: float(next(ticks)), recorder=notes)
    assert episode.length == 0
    assert episode.status is EpisodeStatus.FAILED
    assert episode.stop_reason is StopReason.MAX_SECONDS
    assert episode.outcome and episode.outcome.error and episode.outcome.error.kind == "no_step"
    assert play(Plays(), limited(max_ops=1)).stop_reason is StopReason.MAX_OPS


def test_rollout_errors_have_kind_and_detail_and_are_recorded_first():
    notes = Notes()
    with pytest.raises(RolloutError) as caught:
        play(Plays(answer=lambda asked: PolicyReply(())), recorder=notes, on_error="raise")
    assert caught.value.kind == "no_tool_call"
    assert caught.value.detail
    assert notes.calls == ["start", "record", "finish"]


def test_an_error_of_the_recorder_is_raised():
    class Full(NoRecorder):
        def record(self, decision: Decision) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        play(Plays(), recorder=Full())


def test_the_history_grows_up_to_its_limit():
    policy = Plays()
    play(policy, limited(max_steps=40, max_decisions=40))
    assert policy.histories[:3] == [0, 1, 2]
    assert max(policy.histories) == 16


def test_times_are_on_one_clock_and_in_order():
    ticks = iter(range(1_000_000))
    episode = play(Plays(("noop", "noop")), limited(max_time_s=1e9), clock=lambda: next(ticks) / 1000)
    previous = 0.0
    for decision in episode.decisions:
        timing = decision.timing
        marks = [timing.agent_request_start_s, timing.agent_response_s]
        marks += [mark for span in timing.env_steps_s for mark in span]
        marks.append(timing.decision_ready_s)
        assert marks == sorted(marks)
        assert marks[0] >= previous
        assert timing.decision_ms >= timing.env_step_ms > 0
        assert timing.overhead_ms == pytest.approx(timing.decision_ms - timing.env_step_ms)
        previous = marks[-1]


def test_decisions_chain_and_their_unlocks_add_up():
    spec = replace(SPEC, limits=Limits(max_steps=300, max_decisions=300))
    (episode,) = run_rollout(spec, episode_id="a", run_id="b", recorder_for=lambda queued: NoRecorder())
    assert episode.initial is not None
    before = episode.initial.facts
    unlocked: list[str] = []
    for index, decision in enumerate(episode.decisions):
        assert decision.index == index
        assert decision.before == before
        before = decision.after
        unlocked += decision.unlocked
    assert [step.index for step in episode.steps] == list(range(episode.length))
    assert sorted(unlocked) == sorted(episode.unlock_steps)
    assert len(unlocked) == len(set(unlocked)) > 0


def test_the_same_spec_plays_the_same_episode():
    first, second = (
        run_rollout(SPEC, episode_id="a", run_id="b", recorder_for=lambda queued: NoRecorder())[0] for _ in range(2)
    )
    assert [s.action for s in first.steps] == [s.action for s in second.steps]
    assert [s.state.state_digest for s in first.steps] == [s.state.state_digest for s in second.steps]


def test_reset_plays_the_next_world_with_fresh_credits_and_shared_limits():
    spec = replace(
        SPEC,
        on_done=OnDone.RESET,
        env=replace(SPEC.env, length=6),
        limits=Limits(max_steps=15, max_decisions=100),
        max_actions_per_call=1,
    )
    queued: list[QueuedEpisode] = []

    def recorder_for(episode: QueuedEpisode) -> NoRecorder:
        queued.append(episode)
        return NoRecorder()

    episodes = run_rollout(spec, episode_id="a", run_id="b", recorder_for=recorder_for)
    assert [episode.length for episode in episodes] == [6, 6, 3]
    assert [episode.spec.world_episode for episode in episodes] == [1, 2, 3]
    assert [episode.id for episode in episodes] == [entry.id for entry in queued]
    assert len({episode.id for episode in episodes}) == 3
    assert episodes[-1].stop_reason is StopReason.MAX_STEPS
    for episode in episodes:
        assert episode.initial is not None
        assert episode.decisions[0].before == episode.initial.facts
        assert not any(episode.initial.facts.achievements.values())


def test_every_action_name_can_be_executed():
    spec = replace(SPEC, limits=Limits(max_steps=len(ACTIONS), max_decisions=1))
    episode = play(Plays(ACTIONS), spec)
    assert tuple(step.action for step in episode.steps) == ACTIONS
