"""The scripted policy: a list of goals in order of urgency; the first that has a plan acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core.env.observation import Observation
from core.params import integer
from core.policies.scripted import crafting, farming, shelter, survival
from core.policies.scripted.safety import safe_prefix
from core.policies.scripted.situation import Memory, Plan, Situation
from core.policies.tools import call_interact
from core.types import Decision, PolicyReply

Goal = Callable[[Situation, Memory], Plan | None]

GOALS: tuple[Goal, ...] = (
    survival.keep_sleeping,
    survival.fight_back,
    crafting.make_here,
    survival.quench,
    survival.drink_up,
    survival.feed,
    shelter.recover,
    shelter.sleep_safely,
    survival.hunt_zombie,
    shelter.hide_at_night,
    farming.harvest,
    survival.sip,
    survival.snack,
    survival.nap,
    farming.fence_plant,
    survival.hunt_skeleton,
    farming.pick_sapling,
    farming.plant_sapling,
    crafting.make_tools,
    crafting.mine_diamond,
    survival.hunt_skeleton_anywhere,
    farming.tend,
)


@dataclass(frozen=True, slots=True)
class ScriptedParams:
    """How the script acts."""

    max_actions: int = integer(
        5, label="Max actions per call", description="The run's own limit applies too.", low=1, high=10
    )


class ScriptedPolicy:
    """Plays by a script. It sees the whole map, as the observation gives it, and nothing of what is to come."""

    name = "scripted"

    def __init__(self, params: ScriptedParams, *, seed: int, max_actions: int) -> None:
        self._most = min(params.max_actions, max_actions)
        self._max_actions = max_actions
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Forgets the world before. The seed decides between what is equally near, nothing else."""
        self._memory = Memory(random=Random(seed))

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        """The first goal that has a plan acts."""
        farming.watch_plants(observation, self._memory)
        situation = Situation(observation, self._memory)
        plan = self._plan(situation)
        actions = safe_prefix(situation, plan.actions, self._most)
        return call_interact(actions, plan.reason, max_actions=self._max_actions)

    def close(self) -> None:
        """Holds nothing."""

    def _plan(self, situation: Situation) -> Plan:
        for goal in GOALS:
            plan = goal(situation, self._memory)
            if plan and plan.actions:
                return plan
        return Plan(("noop",), "Nothing is left to do here: waiting.")
