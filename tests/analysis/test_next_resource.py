"""The distance to the next resource: which resource is needed, and how far its nearest cell in view is."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.next_resource import RESOURCES, NextResource, needed_next
from core.env.rules import PLACE, SEMANTIC_IDS
from core.errors import InvalidInput
from core.facts import FactsWriter
from core.facts.columns import FactColumns
from core.scenes import pack_scenes, read_packed
from core.types import Scene, StateFacts

GRID = (9, 7)
FOR_TABLE = PLACE["table"].uses["wood"]
FOR_FURNACE = PLACE["furnace"].uses["stone"]


def facts(placed: tuple[str, ...] = (), **inventory: int) -> StateFacts:
    achievements = {f"place_{thing}": thing in placed for thing in ("table", "furnace")}
    return StateFacts(achievements, inventory)


def columns_of(states: list[StateFacts]) -> FactColumns:
    writer = FactsWriter()
    for at, (before, after) in enumerate(zip(states, states[1:], strict=False)):
        unlocked = [name for name, has in after.achievements.items() if has and not before.achievements[name]]
        writer.add(before, after, unlocked, step_end=at + 1)
    return FactColumns([writer.facts()])


def needed(state: StateFacts) -> str:
    place = int(needed_next(columns_of([facts(), state]))[1][0])
    return RESOURCES[place] if place < len(RESOURCES) else "nothing"


def scene(step: int, **cells: tuple[int, int]) -> Scene:
    """Grass, and each named material at (dx, dy) from the character."""
    materials = np.full(GRID, SEMANTIC_IDS["grass"])
    for name, (dx, dy) in cells.items():
        materials[GRID[0] // 2 + dx, GRID[1] // 2 + dy] = SEMANTIC_IDS[name]
    return Scene(step, GRID, tuple(materials.ravel().tolist()), (), {}, False)


@pytest.mark.parametrize(
    ("state", "resource"),
    [
        (facts(), "wood"),
        (facts(wood=FOR_TABLE), "wood"),
        (facts(wood=FOR_TABLE + 1), "stone"),
        (facts(("table",), wood=0), "wood"),
        (facts(("table",), wood=1), "stone"),
        (facts(("table",), wood_pickaxe=1), "stone"),
        (facts(("table",), wood_pickaxe=1, stone=FOR_FURNACE), "stone"),
        (facts(("table",), wood_pickaxe=1, stone=FOR_FURNACE + 1), "coal"),
        (facts(("table", "furnace"), wood_pickaxe=1, stone=1), "coal"),
        (facts(("table",), stone_pickaxe=1), "coal"),
        (facts(("table",), stone_pickaxe=1, coal=1), "iron"),
        (facts(("table",), stone_pickaxe=1, coal=1, iron=1), "diamond"),
        (facts(("table", "furnace"), iron_pickaxe=1), "diamond"),
        (facts(("table", "furnace"), iron_pickaxe=1, diamond=1), "nothing"),
    ],
)
def test_the_first_resource_that_is_lacking_is_needed(state: StateFacts, resource: str):
    assert needed(state) == resource


def test_phi_is_minus_the_distance_to_the_nearest_cell_in_view():
    scenes = [scene(0, tree=(3, -2)), scene(1, tree=(0, 1)), scene(2, stone=(1, 0)), scene(3, stone=(-4, 2))]
    states = [facts(), facts(), facts(), facts(("table",), wood_pickaxe=1)]
    before, after = NextResource(read_packed(pack_scenes(scenes))).around(columns_of(states))
    assert before.tolist() == [-5.0, -1.0, -7.0]  # no tree in the third: the view's range
    assert after.tolist() == [-1.0, -7.0, -6.0]


def test_phi_is_0_if_nothing_is_needed():
    done = facts(("table", "furnace"), iron_pickaxe=1, diamond=1)
    after = NextResource(read_packed(pack_scenes([scene(0), scene(1)]))).around(columns_of([facts(), done]))[1]
    assert after.tolist() == [0.0]


def test_a_decision_of_several_steps_is_compared_at_its_ends_and_one_without_steps_does_not_change():
    writer = FactsWriter()
    writer.add(facts(), facts(), (), step_end=2)
    writer.add(facts(), facts(), (), step_end=2)
    scenes = read_packed(pack_scenes([scene(0, tree=(1, 0)), scene(1, tree=(2, 0)), scene(2, tree=(3, 0))]))
    before, after = NextResource(scenes).around(FactColumns([writer.facts()]))
    assert (before.tolist(), after.tolist()) == ([-1.0, -3.0], [-3.0, -3.0])


def test_an_episode_without_decisions_has_no_potential():
    before, after = NextResource(read_packed(pack_scenes([scene(0)]))).around(FactColumns([FactsWriter().facts()]))
    assert len(before) == len(after) == 0


def test_missing_scenes_are_an_error():
    with pytest.raises(InvalidInput, match="took 1 steps, but only 1 scenes are stored"):
        NextResource(read_packed(pack_scenes([scene(0)]))).around(columns_of([facts(), facts()]))
