"""The audit's numbers about Crafter equal the engine's."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from core.analysis.audit.crafter import KNOWN_LOOPS, SPAWN_RATES, KnownLoop, chunks_with
from core.env import CrafterEnv
from core.env.balance import balance
from core.env.generator import WorldRandom
from core.env.objects import Plant
from core.env.player import Player
from core.env.rules import ACTIONS, CHUNK_SIZE, COLLECT, PLACE, RIPE_AGE, SEMANTIC_IDS, max_zombies
from core.env.world import World

BY_NAME = {loop.name: loop for loop in KNOWN_LOOPS}
GROUND = {"zombie": "grass", "skeleton": "path", "cow": "grass"}
MARGIN = 18


@pytest.mark.parametrize("loop", KNOWN_LOOPS, ids=lambda loop: loop.name)
def test_a_loop_does_not_change_the_inventory(loop: KnownLoop):
    change = {item: 0 for event in loop.events for item in event.inventory}
    for event in loop.events:
        for item, amount in event.inventory.items():
            change[item] += amount
    assert set(change.values()) <= {0}
    assert len(loop.events) <= loop.steps


def test_steps_of_loops_follow_from_the_recipes():
    assert PLACE["stone"].uses == {"stone": 1}
    assert COLLECT["stone"].leaves in PLACE["stone"].where
    assert PLACE["plant"].uses == {"sapling": 1}
    assert BY_NAME["planting saplings"].steps == 1 / COLLECT["grass"].probability + 2
    assert BY_NAME["eating a plant whenever it is ripe"].steps == RIPE_AGE + 1
    assert COLLECT["water"].leaves == "water"


def steps_until(env: CrafterEnv, action: str, vital: str, amount: int) -> int:
    """The number of steps of this action until the vital has this amount."""
    for steps in range(1, 200):
        _, _, _, _, info = env.step(ACTIONS.index(action))
        if info["inventory"][vital] == amount:
            return steps
    raise AssertionError(f"{vital} never came to {amount}")


@pytest.fixture
def env() -> CrafterEnv:
    env = CrafterEnv(observe=False)
    env.reset(seed=0)
    return env


def test_getting_tired_and_sleeping_takes_as_long_as_in_the_engine(env: CrafterEnv):
    awake = steps_until(env, "noop", "energy", 8)
    asleep = steps_until(env, "sleep", "energy", 9)
    _, _, _, _, info = env.step(ACTIONS.index("noop"))
    assert info["achievements"]["wake_up"] == 1
    assert awake + asleep == BY_NAME["getting tired and sleeping"].steps


def test_hunger_and_thirst_take_as_long_as_in_the_engine(env: CrafterEnv):
    assert steps_until(env, "noop", "drink", 8) == BY_NAME["drinking when thirsty"].steps
    env.reset(seed=0)
    assert 6 * steps_until(env, "noop", "food", 8) == BY_NAME["getting hungry and eating cows"].steps


def test_chunks_at_the_edge_are_smaller():
    assert chunks_with(144) == 25 and chunks_with(30) == 35


class Draws(WorldRandom):
    """Always the same sample, and the cells in order."""

    def __init__(self, sample: float) -> None:
        super().__init__(0)
        cells = count()
        self.sample = lambda: sample
        self.below = lambda low, high: low + next(cells) % (high - low)


def one_chunk(ground: str, cells: int, random: WorldRandom, daylight: float) -> tuple[World, Player]:
    """A chunk with that many cells of a ground, sand elsewhere, and the character far away."""
    width, height = CHUNK_SIZE
    materials = np.full((3 * width, height), SEMANTIC_IDS["sand"], np.uint8)
    materials[:width].flat[:cells] = SEMANTIC_IDS[ground]
    world = World(materials, random, MARGIN)
    world.daylight = daylight
    player = Player(world, 3 * width - 1, height - 1)
    world.add(player)
    world.restore_chunk(0, 0, [])
    return world, player


def spawned(creature: str, *, cells: int, sample: float, daylight: float = 0.0, times: int = 1) -> int:
    """How many creatures are in that chunk after it was balanced `times` times."""
    world, player = one_chunk(GROUND[creature], cells, Draws(sample), daylight)
    for _ in range(times):
        balance(world, player)
    return world.chunk_at(world.cell(0, 0)).counts[SEMANTIC_IDS[creature]]


@pytest.mark.parametrize("creature", SPAWN_RATES)
def test_creatures_appear_with_the_engines_probability(creature: str):
    probability, enough = SPAWN_RATES[creature].probability, SPAWN_RATES[creature].cells
    assert spawned(creature, cells=enough, sample=probability - 1e-9) == 1
    assert spawned(creature, cells=enough, sample=probability) == 0


@pytest.mark.parametrize("creature", SPAWN_RATES)
def test_creatures_need_as_many_cells_as_in_the_engine(creature: str):
    enough = SPAWN_RATES[creature].cells
    assert spawned(creature, cells=enough, sample=0.0) == 1
    assert spawned(creature, cells=enough - 1, sample=0.0) == 0


@pytest.mark.parametrize("daylight", [0.0, 0.1, 0.3, 0.5, 0.6, 0.83, 0.84, 1.0])
def test_a_chunk_gets_as_many_zombies_as_in_the_engine(daylight: float):
    assert spawned("zombie", cells=144, sample=0.0, daylight=daylight, times=20) == max_zombies(daylight)


def test_sleeping_heals_in_13_steps():
    _, player = one_chunk("grass", 0, WorldRandom(0), 1.0)
    player.health = player.last_health = 1
    player.sleeping, player.inventory["energy"] = True, 0
    steps = 0
    while player.health == 1:
        player.update()
        steps += 1
    assert steps == 13


def test_an_eaten_plant_is_ripe_again_after_its_age():
    world, player = one_chunk("grass", 144, WorldRandom(0), 1.0)
    plant = Plant(world, player.x - 2, player.y, grown=RIPE_AGE + 1)
    assert plant.is_ripe
    plant.grown = 0  # as eating does; it grows in the same step
    steps = 0
    while not plant.is_ripe:
        plant.update()
        steps += 1
    assert steps == RIPE_AGE + 1
