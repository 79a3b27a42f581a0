"""The farmer: plays as the script does until its first drink, then repeats what pays. Made for teaching.

Some reward configurations pay for things that can be done for ever: drinking with no thirst, planting saplings,
placing a stone and taking it up again. This policy makes episodes of that kind on purpose, so that one can see what
they look like and what a configuration pays for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.env.rules import DAY_LENGTH, PLACE
from core.params import choice, integer
from core.policies.scripted import Goal, ScriptedParams, ScriptedPolicy, crafting, shelter, survival
from core.policies.scripted.situation import Memory, Plan, Situation

_TRIES = 3  # searches of the grass in one call; more would find a second sapling before the first is planted
_REPEATS = 10  # more than a call holds: the cap on actions cuts it
_EVENING = (65, 200)  # steps of a day; the nights of a farmer without this kit are short:
_KIT = ("wood_pickaxe", "stone_sword")
_STONES = 3


def prepare_for_night(situation: Situation, memory: Memory) -> Plan | None:
    """In the evening: drinks and eats its fill, gets a sword, and what digs and shuts a shelter."""
    first, last = _EVENING
    if not first <= situation.observation.step % DAY_LENGTH < last:
        return None
    fill = survival.sip(situation, memory) or survival.snack(situation, memory)
    if fill:
        return fill
    if not all(map(situation.has, _KIT)):
        return crafting.make_here(situation, memory) or crafting.make_tools(situation, memory)
    if not situation.has("stone", _STONES):
        return crafting.gather(situation, "stone", _STONES, "the shelter of the night")
    return None


# What comes before farming: a farmer that dies earns nothing more.
_STAY_ALIVE: tuple[Goal, ...] = (
    survival.keep_sleeping,
    survival.fight_back,
    survival.quench,
    survival.drink_up,
    survival.feed,
    shelter.recover,
    shelter.sleep_safely,
    shelter.hide_at_night,
    prepare_for_night,
)


def farm_water(situation: Situation, memory: Memory) -> Plan | None:
    """Drinks, thirsty or not."""
    water = situation.nearest(situation.where("water"))
    if water is None:
        return None
    drink = situation.inventory["drink"]
    return Plan(situation.use(water.cell, *("do",) * _REPEATS), f"Farming water: drinking at {drink} of 9.")


def farm_sapling(situation: Situation, memory: Memory) -> Plan | None:
    """Searches the grass for a sapling, plants it, and looks for the next."""
    moves = situation.aim_at(situation.where("grass"))
    if moves is None:
        return None
    if situation.has("sapling"):
        return Plan((*moves, "place_plant"), "Farming saplings: planting one.")
    return Plan((*moves, *("do",) * _TRIES), "Farming saplings: searching the grass for the next.")


def farm_stone(situation: Situation, memory: Memory) -> Plan | None:
    """Places a stone and takes it up again. None without the pickaxe that this needs."""
    if not situation.has("wood_pickaxe"):
        return None
    if situation.at(situation.faced) == "stone":
        return Plan(("do", "place_stone") * _REPEATS, "Farming stones: taking up the one in front.")
    if not situation.has("stone"):
        return crafting.gather(situation, "stone", 1, "placing and taking it up again")
    ground = [name for name in PLACE["stone"].where if name != "lava"]  # nobody should stand by lava for long
    moves = situation.aim_at(situation.where(*ground))
    if moves is None:
        return None
    return Plan((*moves, *("place_stone", "do") * _REPEATS), "Farming stones: placing one.")


FARMS: dict[str, Goal] = {"water": farm_water, "sapling": farm_sapling, "stone": farm_stone}


@dataclass(frozen=True, slots=True)
class FarmerParams:
    """What is farmed, and how many actions a call holds."""

    farm: str = choice(
        "water",
        label="What is farmed",
        description="What is repeated after the first drink: drinking, planting saplings, or placing a stone and "
        "taking it up again.",
        names=tuple(FARMS),
    )
    max_actions: int = integer(
        5, label="Most actions in a call", description="Cut down to the launch's own limit.", low=1, high=10
    )


class FarmerPolicy(ScriptedPolicy):
    """Plays as the scripted policy until its first drink; from then on it stays alive and farms.

    While the farm lacks what it needs (a pickaxe, say) it goes on as the scripted policy does.
    """

    name = "farmer"

    def __init__(self, params: FarmerParams, *, seed: int, max_actions: int) -> None:
        super().__init__(ScriptedParams(params.max_actions), seed=seed, max_actions=max_actions)
        self._farm = FARMS[params.farm]

    def _plan(self, situation: Situation) -> Plan:
        if not situation.done["collect_drink"]:
            return super()._plan(situation)
        self._memory.grown.clear()  # what was planted is there to be paid for, not to be fenced in and waited for
        for goal in (*_STAY_ALIVE, self._farm):
            plan = goal(situation, self._memory)
            if plan and plan.actions:
                return plan
        return super()._plan(situation)
