"""A policy that lives in the service's memory and plays a live environment, one decision at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from core.env.observation import Observation, observation_text
from core.policies import HISTORY_LENGTH, PicturePolicy, Policy, WaitingPolicy
from core.service.live import LiveEnvironment
from core.types import Decision, PolicyReply, RewardBreakdown, StateFacts, Timing

_LONGEST_CALL_S: Final = 300.0


@dataclass(frozen=True)
class _Asked:
    """What the policy was asked last. world: which reset of its environment. step: of the environment then."""

    world: int
    step: int
    text: str
    before: StateFacts
    reply: PolicyReply


@dataclass
class LivePolicy:
    """given: what it was made from, for rollouts that name it. For one thread at a time: hold `lock`."""

    policy: Policy
    name: str
    given: dict[str, Any]
    bound_env_id: str | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    history: list[Decision] = field(default_factory=list[Decision])
    asked: _Asked | None = None

    def decide(self, bound: LiveEnvironment, should_stop: Callable[[], bool]) -> tuple[PolicyReply, float]:
        """Its reply to the environment as it is now, and the milliseconds that took.

        Its history is what it was asked before in this world, with the actions that the environment executed since.
        """
        with bound.lock:
            self._look_back(bound)
            picture_px = self.policy.picture_px if isinstance(self.policy, PicturePolicy) else 0
            observation: Observation = bound.observed(picture_px)
            world, step, before = bound.world, bound.steps, bound.env.facts()
        if isinstance(self.policy, WaitingPolicy):
            self.policy.set_limits(_LONGEST_CALL_S, should_stop, lambda spent: False)
        began = time.perf_counter()
        reply = self.policy.decide(observation, self.history[-HISTORY_LENGTH:])
        took_ms = (time.perf_counter() - began) * 1000
        self.asked = _Asked(world, step, observation_text(observation), before, reply)
        return reply, took_ms

    def _look_back(self, bound: LiveEnvironment) -> None:
        asked, self.asked = self.asked, None
        if asked is None:
            return
        if asked.world != bound.world:  # it was reset since
            self.history.clear()
            self.policy.reset(bound.seed)
            return
        steps = tuple(step for step in bound.recent if step.index >= asked.step)
        after = steps[-1].state.facts if steps else asked.before
        held = asked.before.achievements
        unlocked = tuple(name for name, got in after.achievements.items() if got and not held.get(name, False))
        self.history.append(
            Decision(
                index=self.history[-1].index + 1 if self.history else 0,
                observation=asked.text,
                tool_calls=asked.reply.tool_calls,
                steps=steps,
                not_executed=asked.reply.actions[len(steps) :],
                before=asked.before,
                reward=RewardBreakdown("consistent", 1.0),
                unlocked=unlocked,
                unique_unlocked=unlocked,
                timing=Timing(0.0, 0.0, (), 0.0),
                model_call=asked.reply.model_call,
                warning=asked.reply.warning,
            )
        )
        del self.history[:-HISTORY_LENGTH]
