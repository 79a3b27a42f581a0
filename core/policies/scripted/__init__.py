"""The scripted policy: goals in order of urgency; the first that returns a plan is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core.env.observation import Observation
from core.env.rules import DIRECTIONS
from core.params import integer
from core.policies.scripted import crafting, farming, shelter, survival
from core.policies.scripted.situation import CREATURES, HOSTILE, Memory, Plan, Situation, around, step_towards
from core.policies.tools import call_interact
from core.types import Decision, PolicyReply

Goal = Callable[[Situation, Memory], Plan | None]

_HOSTILE_NEAR = 7
_CREATURE_NEAR = 8
_LAVA_NEAR = 2
_MOVES_BY_LAVA = 4  # no creature appears within that many steps

GOALS: tuple[Goal, ...] = (
    survival.keep_sleeping,
    survival.fight_back,
    crafting.make_here,
    survival.drink_urgently,
    survival.drink_fully,
    survival.eat_urgently,
    shelter.recover,
    shelter.sleep_safely,
    survival.hunt_zombie,
    shelter.hide_at_night,
    farming.harvest,
    survival.drink_if_near,
    survival.eat_if_near,
    survival.sleep_briefly,
    farming.fence_plant,
    survival.hunt_skeleton,
    farming.pick_sapling,
    farming.plant_sapling,
    crafting.make_tools,
    crafting.mine_diamond,
    survival.hunt_skeleton_anywhere,
    farming.tend_plant,
)


@dataclass(frozen=True, slots=True)
class ScriptedParams:
    max_actions: int = integer(
        5, label="Max actions per call", description="The run's own limit applies too.", low=1, high=10
    )


class ScriptedPolicy:
    """Sees the whole map. The seed only breaks ties between equally near cells."""

    name = "scripted"

    def __init__(self, params: ScriptedParams, *, seed: int, max_actions: int) -> None:
        self._limit = min(params.max_actions, max_actions)
        self._max_actions = max_actions
        self.reset(seed)

    def reset(self, seed: int) -> None:
        self._memory = Memory(random=Random(seed))

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        farming.watch_plants(observation, self._memory)
        situation = Situation(observation, self._memory)
        plan = self._plan(situation)
        actions = _safe_prefix(situation, plan.actions, self._limit)
        return call_interact(actions, plan.reason, max_actions=self._max_actions)

    def close(self) -> None: ...

    def _plan(self, situation: Situation) -> Plan:
        for goal in GOALS:
            plan = goal(situation, self._memory)
            if plan and plan.actions:
                return plan
        return Plan(("noop",), "Nothing is left to do here: waiting.")


def _safe_prefix(situation: Situation, actions: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The first actions of a plan, at most `most`: only one if a hostile creature is near, and no move into lava."""
    near_lava = situation.where("lava")
    for _ in range(_LAVA_NEAR):
        near_lava = around(near_lava)
    most = 1 if situation.creatures(*HOSTILE, within=_HOSTILE_NEAR) else most
    kept: list[str] = []
    position, passes_lava = situation.position, False
    for action in actions[:most]:
        direction = DIRECTIONS.get(action.removeprefix("move_"))
        if direction is not None:
            ahead = step_towards(position, direction)
            if situation.at(ahead) == "lava":
                break
            if situation.is_free(ahead) or "do" in kept[-1:]:  # just dug away
                position = ahead
        passes_lava |= bool(near_lava[position])
        kept.append(action)
    if passes_lava:  # a creature in the way would shift every later move by one cell
        kept = kept[: 1 if situation.creatures(*CREATURES, within=_CREATURE_NEAR) else _MOVES_BY_LAVA]
    return tuple(kept) or ("noop",)
