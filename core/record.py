"""Records the episodes of any agent: a gymnasium wrapper around the environment that the agent steps."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import uuid
import warnings
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, SupportsFloat

import crafter
import gymnasium
import numpy as np

from core.env import CrafterEnv
from core.env.rules import ACTIONS, ENGINE_VERSION
from core.env.upstream import UPSTREAM_VERSION, UpstreamEnv
from core.errors import InvalidInput, StoreError
from core.rewards import RewardConfig, RewardShaper, checked_reward
from core.slots import worker_name
from core.store import EpisodeRecorder, TraceStore
from core.text import cut
from core.types import (
    Decision,
    EpisodeError,
    EpisodeSpec,
    Limits,
    ModelCall,
    Outcome,
    PolicySpec,
    QueuedEpisode,
    RewardBreakdown,
    Run,
    RunSource,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)

HEARTBEAT_S: Final = 2.0
STORE_EVERY_S: Final = 0.25
_MAX_WAITING: Final = 1_000  # decisions that are not stored yet
_MAX_NUMBERS: Final = 64  # of one decision
_MAX_NAME: Final = 100
_KEEP_OUTSIDE: Final = (gymnasium.ActionWrapper, gymnasium.wrappers.Autoreset)


class RecordEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records every `every`-th episode of the agent that steps it, while it is played.

    env: has a `CrafterEnv` inside, or is upstream's `crafter.Env`; those episodes cannot be simulated again.
    store: a `TraceStore`, or its URL, which can be sent to another process. policy: the agent's name.
    reward: how its decisions are scored; it changes nothing of what the agent is paid.
    run_id: the run that the episodes belong to; environments with the same one share it. None: a run of its own.

    Put it inside of wrappers that skip frames, change actions or reset by themselves: it records what passes it.
    One step is one decision, unless `decision` groups several. A store that cannot be written does not stop the
    agent: it is warned of once, and `failures` counts the episodes that were not recorded to their end.
    Raises InvalidInput for another environment or around such wrappers, InvalidReward.
    """

    def __init__(
        self,
        env: Any,
        store: TraceStore | str,
        policy: str,
        reward: RewardConfig | None = None,
        every: int = 1,
        *,
        run_id: str | None = None,
    ) -> None:
        inner = UpstreamEnv(env) if isinstance(env, crafter.Env) else env
        super().__init__(inner)
        base = inner.unwrapped
        if not isinstance(base, CrafterEnv | UpstreamEnv):
            raise InvalidInput(
                f"RecordEpisodes is around {type(base).__name__}; put it around a CrafterEnv or upstream's crafter.Env."
            )
        _check_inside(inner)
        if every < 1:
            raise InvalidInput(f"every is {every}; give 1 or more.")
        self._world = base
        self._policy = cut(policy, _MAX_NAME)
        self._reward = checked_reward(reward or RewardConfig("per_achievement"))
        self._every = every
        self._resets = 0
        self._writer = _Writer(store, run_id or uuid.uuid4().hex, self._policy)
        self._episode: _Episode | None = None
        self._grouped: _Given | None = None
        self._next = _Given()

    @property
    def failures(self) -> int:
        """Episodes that could not be recorded to their end."""
        return self._writer.failures

    @property
    def run_id(self) -> str:
        """The run of the recorded episodes."""
        return self._writer.run_id

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As the environment's. Ends the recording of an episode that was not over."""
        self._end(StopReason.ABORTED, "The agent reset the environment before the episode was over.")
        result = super().reset(seed=seed, options=options)
        self._grouped, self._next = None, _Given()
        if self._resets % self._every == 0:
            self._episode = self._writer.begin(self._spec(), self._world.state())
        self._resets += 1
        return result

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """As the environment's."""
        episode = self._episode
        if episode is None:
            return super().step(action)
        began_s = episode.now()
        result = super().step(action)
        _, reward, terminated, truncated, info = result
        reward = info.get("reward", reward)  # Crafter's own, whatever a wrapper inside makes of it
        name = ACTIONS[int(action)]
        step = Step(episode.n_steps, name, float(reward), bool(terminated), bool(truncated), self._world.state())
        if step.state.scene.step != episode.n_steps + 1:
            why = "an environment inside of RecordEpisodes takes several steps at once; put it outside"
            self._writer.give_up(episode, why)
            self._episode = None
            return result
        episode.add(step, (began_s, episode.now()))
        if self._grouped is None:
            self._record(self._take_next())
        if terminated or truncated:
            if self._grouped is not None:  # the episode ends within its decision
                self._record(self._grouped)
                self._grouped = _Given()
            self._end(StopReason.TERMINATED if terminated else StopReason.TRUNCATED)
        return result

    def note(self, *, value: float | None = None, logprob: float | None = None, **numbers: float) -> None:
        """What the agent says of its next decision: the value, the log-probability of its action, and other numbers."""
        self._next = _Given(value=_finite(value), logprob=_finite(logprob), numbers=_numbers(numbers))

    @contextmanager
    def decision(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        tool_calls: Sequence[Mapping[str, Any]] = (),
        value: float | None = None,
        logprob: float | None = None,
        info: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> Generator[None, None, None]:
        """All steps within it are one decision.

        messages: what a model was sent. tool_calls: what it answered, each `{"name": ..., "arguments": ...}`.
        info: further numbers; arrays become `name[i]`, other values are left out. model: its name.
        """
        given = _Given(
            messages=[_plain(message) for message in messages],
            tool_calls=tuple(map(_tool_call, tool_calls)),
            value=_finite(value),
            logprob=_finite(logprob),
            numbers=_numbers(info or {}),
            model=model,
        )
        self._grouped = given
        try:
            yield
        finally:
            # None after a reset within it; another one after the end of the episode.
            if self._grouped is given:
                self._record(given)
            self._grouped = None

    def flush(self) -> None:
        """Wait until all that was recorded is stored."""
        self._writer.flush()

    def close(self) -> None:
        """As the environment's. Ends the recording of an episode that was not over, and waits until all is stored."""
        self._end(StopReason.ABORTED, "The environment was closed before the episode was over.")
        self._writer.close()
        super().close()

    def _spec(self) -> EpisodeSpec:
        seed, episode = self._world.seed_and_episode
        return EpisodeSpec(
            seed=seed,
            policy=PolicySpec(self._policy),
            policy_seed=0,
            world_episode=episode,
            env=self._world.config,
            reward=self._reward,
            limits=Limits(max_steps=self._world.config.length, max_decisions=self._world.config.length),
            engine_version=UPSTREAM_VERSION if isinstance(self._world, UpstreamEnv) else ENGINE_VERSION,
        )

    def _take_next(self) -> _Given:
        given, self._next = self._next, _Given()
        return given

    def _record(self, given: _Given) -> None:
        if self._episode is not None and not self._writer.record(self._episode, given):
            self._episode = None

    def _end(self, reason: StopReason, detail: str = "") -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            error = EpisodeError("not_finished", detail) if detail else None
            self._writer.finish(episode, Outcome(reason, datetime.now(UTC), error))


@dataclass
class _Given:
    """What an agent says of a decision."""

    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tool_calls: tuple[ToolCall, ...] = ()
    value: float | None = None
    logprob: float | None = None
    numbers: dict[str, float] = field(default_factory=dict[str, float])
    model: str = ""


@dataclass(frozen=True)
class _Taken:
    """The steps of a decision."""

    steps: tuple[Step, ...]
    timing: Timing


@dataclass(eq=False)
class _Episode:
    """An episode that is being recorded."""

    id: str
    recorder: EpisodeRecorder
    shaper: RewardShaper
    facts: StateFacts
    began: float = field(default_factory=time.monotonic)
    answered_s: float = 0.0  # since when the agent has been deciding
    n_steps: int = 0
    n_decisions: int = 0
    is_over: bool = False  # nothing more is recorded of it
    seen: set[str] = field(default_factory=set[str])
    steps: list[Step] = field(default_factory=list[Step])
    spans: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def now(self) -> float:
        """Seconds since the episode began."""
        return time.monotonic() - self.began

    def add(self, step: Step, span: tuple[float, float]) -> None:
        self.steps.append(step)
        self.spans.append(span)
        self.n_steps += 1

    def take(self) -> _Taken:
        """The steps since the last decision, and when they happened."""
        ready_s = self.now()
        taken = _Taken(tuple(self.steps), Timing(self.answered_s, ready_s, tuple(self.spans), ready_s))
        if self.spans:
            taken = replace(taken, timing=replace(taken.timing, agent_response_s=self.spans[0][0]))
        self.steps, self.spans, self.answered_s = [], [], ready_s
        return taken

    def decision(self, given: _Given, taken: _Taken) -> Decision:
        """These steps as the next decision."""
        steps = taken.steps
        before, after = self.facts, steps[-1].state.facts if steps else self.facts
        env_reward = math.fsum(step.env_reward for step in steps)
        is_end = bool(steps) and (steps[-1].terminated or steps[-1].truncated)
        reward: RewardBreakdown = self.shaper.score(before, after, env_reward=env_reward, is_end=is_end)
        unlocked = tuple(n for n, got in after.achievements.items() if got and not before.achievements.get(n, False))
        actions = tuple(step.action for step in steps)
        calls = given.tool_calls
        if calls:  # what was executed stands with the last call
            calls = (*calls[:-1], replace(calls[-1], actions=actions))
        called = ModelCall("", given.model, {"messages": given.messages}, "") if given.messages else None
        found = Decision(
            index=self.n_decisions,
            observation="",
            tool_calls=calls,
            steps=steps,
            not_executed=(),
            before=before,
            reward=reward,
            unlocked=unlocked,
            unique_unlocked=tuple(name for name in unlocked if name not in self.seen),
            timing=taken.timing,
            model_call=called,
            value=given.value,
            logprob=given.logprob,
            numbers=given.numbers,
        )
        self.seen.update(unlocked)
        self.facts = after
        self.n_decisions += 1
        return found


@dataclass(frozen=True)
class _Waiting:
    """A decision that is not stored yet, or the end of its episode."""

    episode: _Episode
    given: _Given = field(default_factory=_Given)
    taken: _Taken | None = None
    outcome: Outcome | None = None


class _Writer:
    """Writes to the store in a thread of its own, so that the agent does not wait for it; its errors end the recording
    of an episode, never the agent."""

    def __init__(self, store: TraceStore | str, run_id: str, policy: str) -> None:
        self.run_id = run_id
        self.failures = 0
        self._given = store
        self._policy = policy
        self._store: TraceStore | None = None
        self._owner = 0  # the process that opened the store
        self._heartbeat: _Heartbeat | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._job: Future[None] | None = None
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()  # of the two above
        self._hurry = threading.Event()
        self._problem: Exception | None = None  # not warned of yet

    def begin(self, spec: EpisodeSpec, initial: StateRecord) -> _Episode | None:
        """None if it cannot be stored."""
        try:
            store = self._open()
            episode_id, now = uuid.uuid4().hex, datetime.now(UTC)
            store.runs.add_episode(self.run_id, QueuedEpisode(episode_id, spec), worker=worker_name(os.getpid()))
            recorder = store.recorder(episode_id)
            recorder.start(now, initial)
        except (StoreError, OSError) as error:
            self._failed(error)
            return self._warn()
        assert self._heartbeat is not None
        self._heartbeat.episode_id = episode_id
        return _Episode(episode_id, recorder, RewardShaper(spec.reward), initial.facts)

    def record(self, episode: _Episode, given: _Given) -> bool:
        """Whether the recording goes on: not after an error, nor after a stop on the dashboard."""
        self._later(_Waiting(episode, given, episode.take()))
        return not episode.is_over

    def finish(self, episode: _Episode, outcome: Outcome) -> None:
        self._later(_Waiting(episode, outcome=outcome))

    def give_up(self, episode: _Episode, why: str) -> None:
        """End the recording of an episode that cannot be recorded."""
        self.finish(episode, Outcome(StopReason.ABORTED, datetime.now(UTC), EpisodeError("not_recorded", why)))
        self._failed(InvalidInput(f"{why[:1].upper()}{why[1:]}."))
        self._warn()

    def flush(self) -> None:
        """Wait until all that was recorded is stored."""
        job = self._job
        if job is not None:
            self._hurry.set()
            job.result()
            self._hurry.clear()
        self._warn()

    def close(self) -> None:
        self.flush()
        if self._heartbeat is not None:
            self._heartbeat.end()
        if self._thread is not None:
            self._thread.shutdown()
        if self._store is not None and isinstance(self._given, str):
            self._store.close()
        self._store = self._heartbeat = self._thread = None

    def _later(self, item: _Waiting) -> None:
        assert self._thread is not None
        with self._lock:
            self._waiting.append(item)
            if self._job is None or self._job.done():
                self._job = self._thread.submit(self._store_waiting)
        if len(self._waiting) > _MAX_WAITING:
            self.flush()
        self._warn()

    def _store_waiting(self) -> None:
        """Store what waits, again and again until nothing does. What comes within `STORE_EVERY_S` is one transaction:
        one for each step would slow down a training."""
        while True:
            self._hurry.wait(STORE_EVERY_S)
            with self._lock:
                items, self._waiting = self._waiting, []
                if not items:
                    self._job = None
                    return
            for episode, its_items in groupby(items, lambda item: item.episode):
                if not episode.is_over:
                    self._store_items(episode, list(its_items))

    def _store_items(self, episode: _Episode, items: list[_Waiting]) -> None:
        decisions: list[Decision] = []
        try:
            try:
                for item in items:
                    if item.taken is not None:
                        decisions.append(episode.decision(item.given, item.taken))
            finally:  # those before one that cannot be scored
                episode.recorder.record_all(decisions)
            outcome = items[-1].outcome
            if outcome is None and self._heartbeat is not None and self._heartbeat.stop_requested:
                outcome = Outcome(StopReason.ABORTED, datetime.now(UTC))
            if outcome is not None:
                self._finish(episode, outcome)
        except Exception as error:  # noqa: BLE001  the edge of a training: whatever fails here must not end it
            episode.is_over = True
            self._forget(episode)
            self._failed(error)

    def _forget(self, episode: _Episode) -> None:
        """Nothing more says that it is alive, so that it is found interrupted."""
        if self._heartbeat is not None and self._heartbeat.episode_id == episode.id:
            self._heartbeat.episode_id = ""

    def _finish(self, episode: _Episode, outcome: Outcome) -> None:
        episode.is_over = True
        self._forget(episode)
        episode.recorder.finish(outcome)

    def _open(self) -> TraceStore:
        """The store of this process, with the run in it. A process that was forked opens its own."""
        if self._store is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._store = TraceStore(self._given) if isinstance(self._given, str) else self._given
            self._heartbeat = _Heartbeat(self._store)
            self._thread = ThreadPoolExecutor(1, "recording")
            self._job, self._waiting = None, []
            self._lock, self._hurry = threading.Lock(), threading.Event()
            config = {"policy": {"name": self._policy}, "recorded_by": worker_name(self._owner)}
            run = Run(self.run_id, datetime.now(UTC), (), name=self._policy, config=config, source=RunSource.RECORDED)
            self._store.runs.create_if_new(run)  # another environment of the same run may have been first
        return self._store

    def _failed(self, error: Exception) -> None:
        if not self.failures:
            self._problem = error
        self.failures += 1

    def _warn(self) -> None:
        """From the agent's own thread, whose filters count."""
        error, self._problem = self._problem, None
        if error is not None:
            warnings.warn(f"An episode is not recorded, and the agent goes on: {error}", RuntimeWarning, stacklevel=4)


class _Heartbeat:
    """A thread that says that an episode's process is alive: between two steps of a training may lie minutes."""

    def __init__(self, store: TraceStore) -> None:
        self.stop_requested = False
        self._store = store
        self._episode_id = ""
        self._over = threading.Event()
        threading.Thread(target=self._run, name="recording-heartbeat", daemon=True).start()

    @property
    def episode_id(self) -> str:
        """The episode that is being recorded; empty between two."""
        return self._episode_id

    @episode_id.setter
    def episode_id(self, episode_id: str) -> None:
        self._episode_id = episode_id
        self.stop_requested = False

    def end(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(HEARTBEAT_S):
            episode_id = self._episode_id
            if not episode_id:
                continue
            try:
                self._store.queue.heartbeat(episode_id)
                if self._store.queue.stop_requested(episode_id) and episode_id == self._episode_id:
                    self.stop_requested = True
            except StoreError:
                continue  # the recording itself reports it


def _tool_call(given: Mapping[str, Any]) -> ToolCall:
    arguments = given.get("arguments", {})
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    except (TypeError, ValueError):
        text = str(arguments)
    return ToolCall(str(given.get("name", "")), text, call_id=str(given.get("id", "")))


def _check_inside(env: Any) -> None:
    """Raises InvalidInput for a wrapper inside whose steps are not those of the agent."""
    while env is not env.unwrapped:
        name: str = type(env).__name__
        if isinstance(env, _KEEP_OUTSIDE):
            raise InvalidInput(
                f"RecordEpisodes is around {name}, which changes actions or resets by itself. "
                "Make it the inner one of the two."
            )
        env = env.env


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as JSON holds it; what JSON has no form for becomes text."""
    return {str(key): json.loads(json.dumps(value, default=str)) for key, value in message.items()}


def _finite(value: float | None) -> float | None:
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _numbers(given: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name; of arrays each entry."""
    found: dict[str, float] = {}
    for name, value in given.items():
        try:
            entries = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            continue
        for place, number in np.ndenumerate(entries):
            if len(found) < _MAX_NUMBERS and math.isfinite(number):
                found[f"{name}{list(place)}" if place else str(name)] = float(number)
    return found
