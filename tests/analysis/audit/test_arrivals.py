"""How often the audit takes creatures to appear is how often the engine lets them."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest

from core.analysis.audit.arrivals import (
    AREA,
    ARRIVALS,
    CHUNK,
    DAY,
    EVERY,
    Arrival,
    chunks_with,
    steps_for_each,
    zombies_wanted,
)
from core.env.balance import EVERY as TRUE_EVERY
from core.env.balance import balance
from core.env.generator import WorldRandom
from core.env.objects import Plant
from core.env.player import Player
from core.env.rules import DAY_LENGTH, RIPE_AGE, SEMANTIC_IDS
from core.env.simulation import daylight_at
from core.env.state import CHUNK_SIZE
from core.env.world import World
from core.types import Scene

GROUND = {"zombie": "grass", "skeleton": "path", "cow": "grass"}
MARGIN = 18


class Draws(WorldRandom):
    """Always the same sample, and one cell after the other."""

    def __init__(self, sample: float) -> None:
        super().__init__(0)
        cells = count()
        self.sample = lambda: sample
        self.below = lambda low, high: low + next(cells) % (high - low)


def one_chunk(ground: str, cells: int, random: WorldRandom, daylight: float) -> tuple[World, Player]:
    """A chunk with so many cells of a ground, sand elsewhere, and a player out of the way in the next one."""
    width, height = CHUNK
    materials = np.full((3 * width, height), SEMANTIC_IDS["sand"], np.uint8)
    materials[:width].flat[:cells] = SEMANTIC_IDS[ground]
    world = World(materials, random, MARGIN)
    world.daylight = daylight
    player = Player(world, 3 * width - 1, height - 1)
    world.add(player)
    world.hold(0, 0, [])
    return world, player


def arrived(creature: str, *, cells: int, sample: float, daylight: float = 0.0, looks: int = 1) -> int:
    """How many of a creature are in that chunk after so many looks."""
    world, player = one_chunk(GROUND[creature], cells, Draws(sample), daylight)
    for _ in range(looks):
        balance(world, player)
    return world.chunk_at(world.cell(0, 0)).counts[SEMANTIC_IDS[creature]]


@pytest.mark.parametrize("creature", ARRIVALS)
def test_a_creature_appears_with_the_probability_that_is_said(creature: str):
    probability, enough = ARRIVALS[creature].probability, ARRIVALS[creature].cells
    assert arrived(creature, cells=enough, sample=math.nextafter(probability, 0)) == 1
    assert arrived(creature, cells=enough, sample=probability) == 0


@pytest.mark.parametrize("creature", ARRIVALS)
def test_a_chunk_needs_as_many_cells_as_are_said(creature: str):
    enough = ARRIVALS[creature].cells
    assert arrived(creature, cells=enough, sample=0.0) == 1
    assert arrived(creature, cells=enough - 1, sample=0.0) == 0


@pytest.mark.parametrize("daylight", [0.0, 0.1, 0.3, 0.5, 0.6, 0.83, 0.84, 1.0])
def test_a_chunk_is_filled_up_to_as_many_zombies_as_are_said_to_be_wanted(daylight: float):
    assert arrived("zombie", cells=144, sample=0.0, daylight=daylight, looks=20) == zombies_wanted(daylight)


def test_looks_chunks_and_days_are_the_engines():
    assert (EVERY, CHUNK, DAY) == (TRUE_EVERY, CHUNK_SIZE, DAY_LENGTH)
    looks = range(0, DAY, EVERY)
    assert [Scene(step, (0, 0), (), (), {}, False).daylight for step in looks] == pytest.approx(
        [daylight_at(step) for step in looks]
    )


@pytest.mark.parametrize("area", [AREA, (30, 41), (12, 12), (5, 7)])
@pytest.mark.parametrize("cells", [6, 30, 50, 144])
def test_the_chunks_that_are_large_enough_are_the_engines(area: tuple[int, int], cells: int):
    world = World(np.full(area, SEMANTIC_IDS["grass"], np.uint8), WorldRandom(0), MARGIN)
    chunks = {world.chunk_at(world.cell(x, y)) for x in range(area[0]) for y in range(area[1])}
    assert chunks_with(cells, area) == sum(chunk.grass >= cells for chunk in chunks)


@pytest.mark.parametrize("creature", ARRIVALS)
def test_a_world_that_is_emptied_at_once_brings_as_many_as_the_bound_says_and_hardly_more(creature: str):
    world = World(np.full(AREA, SEMANTIC_IDS[GROUND[creature]], np.uint8), WorldRandom(0), MARGIN)
    player = Player(world, 0, 0)
    world.add(player)
    for x in range(0, AREA[0], CHUNK[0]):
        for y in range(0, AREA[1], CHUNK[1]):
            world.hold(x, y, [])
    n_days, n_arrived = 30, 0
    for step in range(0, n_days * DAY, EVERY):
        world.daylight = daylight_at(step)
        balance(world, player)
        for thing in [thing for thing in world.things if thing is not player]:
            n_arrived += thing.kind == SEMANTIC_IDS[creature]
            world.remove(thing)
    assert n_arrived == pytest.approx(n_days * DAY / steps_for_each(creature), rel=0.1)


def test_no_creature_is_defeated_faster_than_one_a_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ARRIVALS, "zombie", Arrival(1.0, 1))
    assert steps_for_each("zombie") == 1.0


def test_who_sleeps_heals_in_as_many_steps_as_are_said():
    _, player = one_chunk("grass", 0, WorldRandom(0), 1.0)
    player.health = player.last_health = 1
    player.sleeping, player.inventory["energy"] = True, 0
    steps = 0
    while player.health == 1:
        player.update()
        steps += 1
    assert steps == 13


def test_a_plant_that_was_eaten_is_not_ripe_at_once_and_ripe_again_after_its_age():
    world, player = one_chunk("grass", 144, WorldRandom(0), 1.0)
    plant = Plant(world, player.x - 2, player.y, grown=RIPE_AGE + 1)
    assert plant.is_ripe
    plant.grown = 0  # what eating does; it grows in the same step
    steps = 0
    while not plant.is_ripe:
        plant.update()
        steps += 1
    assert steps == RIPE_AGE + 1
