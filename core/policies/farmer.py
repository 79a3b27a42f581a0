"""The farmer: plays like the script until its first drink, then repeats one thing that pays. Made for teaching.

Some reward configurations pay for things that can be repeated without end: drinking without thirst, planting saplings,
placing a stone and collecting it. This policy produces such episodes, to show what they look like and what they earn.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.env.rules import DIRECTIONS, PLACE, WALKABLE
from core.params import choice, integer
from core.policies.scripted import Goal, ScriptedParams, ScriptedPolicy, crafting, shelter, survival
from core.policies.scripted.situation import HOSTILE, MOVES, Cell, Memory, Plan, Situation, neighbours, step_towards

_TRIES = 3  # searches per call; more would find a second sapling before the first is planted
_REPEATS = 10  # more than one call executes
_FIRST_STONES = 10  # 20 steps, which leaves time before the night

# Steps of a day.
_EVENING = range(65, 200)
_LATE = range(105, 147)  # until it gets dark

_KIT = ("wood_pickaxe", "wood_sword")  # needed to survive a night
_STONES = 3
_ENOUGH = (("drink", "water", 8), ("food", "cow", 7))  # a night uses half of both
_STEPS_TO_FILL_UP = 30
_BRIGHT = 0.84  # daylight above which no zombie appears
_SLEEPY = 3  # energy below which it sleeps even then
_HOSTILE_NEAR = 6


def fill_up(situation: Situation, memory: Memory) -> Plan | None:
    """Late in the day: drinks and eats what is near."""
    if situation.day_step not in _LATE:
        return None
    for vital, source, enough in _ENOUGH:
        target = situation.nearest(situation.where(source))
        if target and target.steps <= _STEPS_TO_FILL_UP and not situation.has(vital, enough):
            level = situation.inventory[vital]
            reason = f"Filling up for the night, {vital} is {level} of 9; {source} is {situation.way_to(target.cell)}."
            return Plan(situation.use(target.cell, "do"), reason)
    return None


def prepare_for_night(situation: Situation, memory: Memory) -> Plan | None:
    """In the evening: drinks, eats, and gets the tools and stones for a shelter."""
    if situation.day_step not in _EVENING:
        return None
    fill = survival.drink_if_near(situation, memory) or survival.eat_if_near(situation, memory)
    if fill:
        return fill
    if not all(map(situation.has, _KIT)):
        return crafting.make_here(situation, memory) or crafting.make_tools(situation, memory)
    if not situation.has("stone", _STONES):
        return crafting.gather(situation, "stone", _STONES, "the shelter of the night")
    return None


def rest(situation: Situation, memory: Memory) -> Plan | None:
    """Heals and sleeps behind walls, unless it is too bright for zombies: farming heals as well then."""
    is_safe = situation.observation.daylight > _BRIGHT and not situation.creatures(*HOSTILE, within=_HOSTILE_NEAR)
    if is_safe and situation.inventory["energy"] >= _SLEEPY:
        return None
    return shelter.recover(situation, memory) or shelter.sleep_safely(situation, memory)


# Before farming: a dead farmer earns nothing.
_STAY_ALIVE: tuple[Goal, ...] = (
    survival.keep_sleeping,
    survival.fight_back,
    survival.drink_urgently,
    survival.drink_fully,
    survival.eat_urgently,
    fill_up,
    rest,
    shelter.hide_at_night,
    prepare_for_night,
)


def farm_water(situation: Situation, memory: Memory) -> Plan | None:
    water = situation.nearest(situation.where("water"))
    if water is None:
        return None
    drink = situation.inventory["drink"]
    return Plan(situation.use(water.cell, *("do",) * _REPEATS), f"Farming water: drinking at {drink} of 9.")


def farm_sapling(situation: Situation, memory: Memory) -> Plan | None:
    """Searches the grass for saplings and plants them."""
    grass = situation.where("grass")
    moves = situation.aim_at(grass)
    if moves is None:
        field = situation.nearest(grass)
        return field and Plan(
            situation.go_to(field.cell), f"Grass is {situation.way_to(field.cell)}: going there to farm."
        )
    if situation.has("sapling"):
        return Plan((*moves, "place_plant"), "Farming saplings: planting one.")
    return Plan((*moves, *("do",) * _TRIES), "Farming saplings: searching the grass for the next.")


def farm_stone(situation: Situation, memory: Memory) -> Plan | None:
    """Places a stone and collects it. Needs a pickaxe."""
    if not situation.has("wood_pickaxe"):
        return None
    if situation.at(situation.faced) == "stone":
        return Plan(("do", "place_stone") * _REPEATS, "Farming stones: taking up the one in front.")
    if not situation.has("stone"):
        return crafting.gather(situation, "stone", 1, "placing and taking it up again")
    ground = [name for name in PLACE["stone"].where if name != "lava"]  # standing by lava is dangerous
    moves = situation.aim_at(situation.where(*ground))
    if moves is None:
        return None
    return Plan((*moves, *("place_stone", "do") * _REPEATS), "Farming stones: placing one.")


def farm_stone_behind_walls(situation: Situation, memory: Memory) -> Plan | None:
    """The same from inside a shelter, with a stone of its wall that is safe to remove."""
    if not situation.has("wood_pickaxe"):
        return None
    for direction in sorted(DIRECTIONS.values(), key=lambda direction: direction != situation.facing):
        cell = step_towards(situation.position, direction)
        if situation.at(cell) == "stone" and _is_safe_to_open(situation, cell):
            turn = () if direction == situation.facing else (MOVES[direction],)
            return Plan((*turn, *("do", "place_stone") * _REPEATS), "Farming stones behind closed walls: taking one.")
    return None


def _can_shut(situation: Situation) -> bool:
    """Whether the opening in front can be closed now."""
    is_open = situation.at(situation.faced) in WALKABLE and not situation.observation.sleeping
    return is_open and situation.has("stone")


def _is_safe_to_open(situation: Situation, cell: Cell) -> bool:
    """Whether a neighbouring cell has walls on all sides, or no hostile creature is near."""
    walls = (beside == situation.position or situation.at(beside) in shelter.WALLS for beside in neighbours(cell))
    return all(walls) or not situation.creatures(*HOSTILE, within=_HOSTILE_NEAR)


@dataclass(frozen=True, slots=True)
class Farm:
    """counted: the achievement that counts its rounds. first_rounds: rounds before it prepares for the night, unless it
    is late. behind_walls: the goal inside a shelter in place of waiting.
    """

    goal: Goal
    counted: str
    first_rounds: int = 0
    behind_walls: Goal | None = None


FARMS: dict[str, Farm] = {
    "water": Farm(farm_water, "collect_drink"),
    "sapling": Farm(farm_sapling, "place_plant"),
    "stone": Farm(farm_stone, "place_stone", _FIRST_STONES, farm_stone_behind_walls),
}


@dataclass(frozen=True, slots=True)
class FarmerParams:
    farm: str = choice(
        "water",
        label="Farm",
        description="What it repeats after the first drink: drinking, planting saplings, or placing and collecting "
        "a stone.",
        names=tuple(FARMS),
    )
    max_actions: int = integer(
        5, label="Max actions per call", description="The run's own limit applies too.", low=1, high=10
    )


class FarmerPolicy(ScriptedPolicy):
    """Plays like the scripted policy until its first drink, and while the farm lacks something, such as a pickaxe.
    Then it stays alive and farms, at night from inside a shelter if possible."""

    name = "farmer"

    def __init__(self, params: FarmerParams, *, seed: int, max_actions: int) -> None:
        super().__init__(ScriptedParams(params.max_actions), seed=seed, max_actions=max_actions)
        self._farm = FARMS[params.farm]

    def reset(self, seed: int) -> None:
        super().reset(seed)
        self._opened_from: Cell | None = None  # where it stood when it last opened its shelter

    def _plan(self, situation: Situation) -> Plan:
        if not situation.done["collect_drink"]:
            return super()._plan(situation)
        self._memory.grown.clear()  # planted for reward, not to be fenced and eaten
        opened_from, self._opened_from = self._opened_from, None
        if opened_from == situation.position and _can_shut(situation):
            self._opened_from = opened_from
            return Plan(("place_stone", "do") * _REPEATS, "Farming stones behind closed walls: placing one.")
        for goal in (*_STAY_ALIVE, self._farm.goal):
            if goal is prepare_for_night and self._farms_first(situation):
                continue
            plan = goal(situation, self._memory)
            if plan and plan.actions:
                return self._instead_of_waiting(situation, plan)
        return super()._plan(situation)

    def _farms_first(self, situation: Situation) -> bool:
        rounds = situation.observation.achievement_counts[self._farm.counted]
        return rounds < self._farm.first_rounds and situation.day_step not in _LATE

    def _instead_of_waiting(self, situation: Situation, plan: Plan) -> Plan:
        """Farms from inside the shelter if the plan only waits there."""
        if set(plan.actions) != {"noop"} or self._farm.behind_walls is None:
            return plan
        inside = self._farm.behind_walls(situation, self._memory)
        self._opened_from = situation.position if inside else None
        return inside or plan
