"""Episodes for the audit: played ones, and ones that a test writes decision by decision."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from core.analysis.audit import Alert, AuditThresholds, audit
from core.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, INITIAL_ITEM
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rollout import NoRecorder, run_episode
from core.types import (
    Decision,
    Episode,
    EpisodeSpec,
    Limits,
    PolicySpec,
    RewardBreakdown,
    RewardComponent,
    RewardConfig,
    Scene,
    Sprite,
    StateFacts,
    StateRecord,
    Step,
    Timing,
)

DEFAULT = RewardConfig(strategy="per_achievement")


@functools.cache
def played(policy: str, seed: int, steps: int, *, actions: int = 5, farm: str = "") -> Episode:
    """An episode of the real loop under the default `per_achievement` configuration."""
    spec = EpisodeSpec(
        seed=seed,
        policy=PolicySpec(policy, {"farm": farm} if farm else {}),
        policy_seed=seed,
        reward=DEFAULT,
        limits=Limits(max_steps=steps, max_decisions=steps),
        max_actions_per_call=actions,
    )
    env = CrafterEnv.from_config(spec.env, observe=False)
    player = make_policy(spec.policy, seed=seed, max_actions=actions)
    return run_episode(spec, env, player, RewardShaper(spec.reward), NoRecorder(), episode_id="audited", run_id="run")


@dataclass(frozen=True)
class To:
    """One step and what it changes. `inventory` is added, `done` is counted (and unlocked the first time).

    creature: the column of the view in which a cow stands.
    """

    inventory: dict[str, int] = field(default_factory=dict[str, int])
    done: str = ""
    at: tuple[int, int] | None = None
    ground: int | None = None
    clock: int = 1
    terminated: bool = False
    new_world: bool = False
    asleep: bool = False
    creature: int | None = None


class Story:
    """Writes an episode. Decisions pay what the configuration says, or `pay`."""

    def __init__(self, config: RewardConfig = DEFAULT) -> None:
        self.config = config
        self._shaper = RewardShaper(config)
        self._state = self._initial = _first_state()
        self._steps = 0
        self.decisions: list[Decision] = []

    def decide(self, *steps: To, pay: float | None = None) -> Story:
        """One decision of these steps."""
        before = self._state.facts
        made = tuple(self._step(to) for to in steps)
        reward = self._shaper.score(before, self._state.facts)
        if pay is not None:
            part = RewardComponent("bonus", "made_up", 1.0, pay, pay)
            reward = RewardBreakdown(self.config.strategy, 1.0, (part,))
        had = before.achievements
        unlocked = tuple(name for name, has in self._state.facts.achievements.items() if has and not had[name])
        self.decisions.append(
            Decision(
                len(self.decisions), "", (), made, (), before, reward, unlocked, unlocked, Timing(0.0, 0.0, (), 0.0)
            )
        )
        return self

    def repeat(self, times: int, *decisions: tuple[To, ...], pay: float | None = None) -> Story:
        for _ in range(times):
            for steps in decisions:
                self.decide(*steps, pay=pay)
        return self

    def unlock_all(self) -> Story:
        """Every achievement once, in a decision of its own."""
        for name in ACHIEVEMENTS:
            self.decide(To(done=name))
        return self

    @property
    def episode(self) -> Episode:
        spec = EpisodeSpec(1, PolicySpec("random"), 1, reward=self.config)
        start = datetime(2026, 3, 1, tzinfo=UTC)
        return Episode("story", "run", spec, self._initial, tuple(self.decisions), start)

    def _step(self, to: To) -> Step:
        self._state = _after(_first_state() if to.new_world else self._state, to)
        self._steps += 1
        return Step(self._steps - 1, "do", 0.0, to.terminated, False, self._state)


def found(rule: str, story: Story, **thresholds: Any) -> list[Alert]:
    """The alerts and notices of one rule."""
    return [alert for alert in audit(story.episode, AuditThresholds(**thresholds)) if alert.rule == rule]


def _first_state() -> StateRecord:
    facts = StateFacts(dict.fromkeys(ACHIEVEMENTS, False), dict(INITIAL_ITEM), dict.fromkeys(ACHIEVEMENTS, 0), (9, 9))
    return _record(facts, ground=1, clock=0, asleep=False)


def _after(state: StateRecord, to: To) -> StateRecord:
    old = state.facts
    facts = replace(
        old,
        inventory={name: n + to.inventory.get(name, 0) for name, n in old.inventory.items()},
        achievement_counts={name: n + (name == to.done) for name, n in old.achievement_counts.items()},
        achievements={name: has or name == to.done for name, has in old.achievements.items()},
        position=to.at or old.position,
    )
    ground = state.scene.materials[0] if to.ground is None else to.ground
    clock = state.scene.step + to.clock
    return _record(facts, ground=ground, clock=clock, asleep=to.asleep, creature=to.creature)


def _record(facts: StateFacts, *, ground: int, clock: int, asleep: bool, creature: int | None = None) -> StateRecord:
    sprites = () if creature is None else (Sprite("cow", creature, 0),)
    scene = Scene(clock, (1, 1), (ground,), sprites, facts.inventory, asleep)
    situation: list[Any] = [facts, ground, asleep]
    return StateRecord(facts, scene, f"{situation} {clock}", str(situation))
