"""A scene contains what the local view shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.env.scene import scene_of, texture_of
from core.env.state import ARROW, COW, PLANT, PLAYER, Thing, WorldState
from core.types import Sprite
from tests.support.worlds import EnvMaker, first_state

GRID = (9, 7)


def _standing_at(x: int, y: int) -> WorldState:
    state = first_state()
    return replace(state, things=(state.things[0]._replace(x=x, y=y), *state.things[1:]))


def test_the_player_stands_in_the_middle(env_at: EnvMaker):
    scene = env_at().scene()
    assert scene.grid == GRID
    assert scene.sprites[0] == Sprite("player-down", 4, 3)
    assert scene.step == 0 and not scene.sleeping
    assert scene.inventory["health"] == 9


def test_materials_are_the_cells_around_the_player():
    state = first_state()
    local = np.array(scene_of(state, GRID).materials).reshape(GRID)
    assert np.array_equal(local, state.materials[28:37, 29:36])


def test_cells_outside_the_world_are_empty():
    local = np.array(scene_of(_standing_at(0, 63), GRID).materials).reshape(GRID)
    assert not local[:4].any() and not local[:, 4:].any()
    assert local[4:, :4].all()


def test_sprites_are_the_things_in_view_in_creation_order():
    state = first_state()
    x, y = state.position
    near = Thing(COW, x + 4, y - 3, 3, 0, 0, 0)
    far = Thing(COW, x + 5, y, 3, 0, 0, 0)
    plant = Thing(PLANT, x - 4, y + 3, 1, 0, 0, 5)
    scene = scene_of(replace(state, things=(state.things[0], near, far, plant)), GRID)
    assert scene.sprites == (Sprite("player-down", 4, 3), Sprite("cow", 8, 0), Sprite("plant", 0, 6))


def test_every_thing_has_its_texture():
    arrow, player = Thing(ARROW, 0, 0, 0, -1, 0, 0), Thing(PLAYER, 0, 0, 9, 0, -1, 0)
    assert texture_of(arrow, sleeping=False) == "arrow-left"
    assert texture_of(player, sleeping=False) == "player-up"
    assert texture_of(player, sleeping=True) == "player-sleep"
    assert texture_of(Thing(PLANT, 0, 0, 1, 0, 0, 300), sleeping=False) == "plant"
    assert texture_of(Thing(PLANT, 0, 0, 1, 0, 0, 301), sleeping=False) == "plant-ripe"
