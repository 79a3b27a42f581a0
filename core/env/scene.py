"""From a world's state to its `Scene`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.env.rules import DIRECTION_NAMES, ITEMS, RIPE_AGE
from core.env.state import ARROW, COW, PLANT, PLAYER, SKELETON, ZOMBIE, Thing, WorldState
from core.types import Scene, Sprite

_FIXED_TEXTURES = {COW: "cow", ZOMBIE: "zombie", SKELETON: "skeleton"}


def scene_of(state: WorldState, grid: tuple[int, int]) -> Scene:
    """The scene around the player; `grid` is width and height of the local view in cells."""
    left, top = state.position[0] - grid[0] // 2, state.position[1] - grid[1] // 2
    sleeping = state.player.sleeping
    return Scene(
        step=state.step,
        grid=grid,
        materials=tuple(local_cells(state.materials, state.position, grid).ravel().tolist()),
        sprites=tuple(
            [
                Sprite(texture_of(thing, sleeping), thing.x - left, thing.y - top)
                for thing in state.things
                if 0 <= thing.x - left < grid[0] and 0 <= thing.y - top < grid[1]
            ]
        ),
        inventory=dict(zip(ITEMS, state.player.inventory, strict=True)),
        sleeping=sleeping,
    )


def texture_of(thing: Thing, sleeping: bool) -> str:
    """The name of the texture of `thing` among Crafter's assets."""
    if thing.kind == PLAYER:
        return "player-sleep" if sleeping else f"player-{_direction_of(thing)}"
    if thing.kind == ARROW:
        return f"arrow-{_direction_of(thing)}"
    if thing.kind == PLANT:
        return "plant-ripe" if thing.counter > RIPE_AGE else "plant"
    return _FIXED_TEXTURES[thing.kind]


def _direction_of(thing: Thing) -> str:
    return DIRECTION_NAMES[thing.facing_x, thing.facing_y]


def local_cells(cells: NDArray[np.uint8], center: tuple[int, int], grid: tuple[int, int]) -> NDArray[np.uint8]:
    """The part of a map of the world around `center`, uint8 of shape `grid`; 0 outside the world."""
    local = np.zeros(grid, np.uint8)
    (width, height), (left, top) = cells.shape, (center[0] - grid[0] // 2, center[1] - grid[1] // 2)
    x0, x1 = max(0, left), min(width, left + grid[0])
    y0, y1 = max(0, top), min(height, top + grid[1])
    local[x0 - left : x1 - left, y0 - top : y1 - top] = cells[x0:x1, y0:y1]
    return local
