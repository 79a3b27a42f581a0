"""Pictures for people, drawn from values with Crafter's own textures and views. Nothing here knows a simulation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from crafter import constants, engine
from numpy.typing import NDArray
from PIL import Image

from core.env.rules import SEMANTIC_NAMES
from core.env.scene import texture_of
from core.env.world import WorldState
from core.types import Scene

_TEXTURE_SIZE = 16  # pixels, of every asset


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """A thing as upstream's local view looks at it."""

    pos: NDArray[np.int_]
    texture: str
    sleeping: bool = False


class _SceneWorld:
    """A scene in the place of the world that upstream's local view draws, with a generator of its own.

    The scene's cells outside the world are margins; what lies inside them is this world's area, from (0, 0).
    """

    def __init__(self, scene: Scene, random: np.random.RandomState) -> None:
        materials = np.array(scene.materials, np.uint8).reshape(scene.grid)
        inside = np.argwhere(materials > 0)
        origin, end = inside.min(0), inside.max(0) + 1
        self.area = tuple(end - origin)
        self.random = random
        self.daylight = scene.daylight
        self.center = _Drawn(np.array(scene.grid) // 2 - origin, "", scene.sleeping)
        self.objects = [_Drawn(np.array((s.x, s.y)) - origin, s.texture) for s in scene.sprites]
        self._materials = materials[origin[0] : end[0], origin[1] : end[1]]

    def __getitem__(self, pos: NDArray[np.int_]) -> tuple[str, None]:
        return SEMANTIC_NAMES[self._materials[tuple(pos)]], None


def draw_scene(
    scene: Scene, view: tuple[int, int], size: tuple[int, int], noise_seed: Sequence[int]
) -> NDArray[np.uint8]:
    """Draw `scene` as upstream would at `size` (width, height in pixels): uint8 (height, width, 3), C-contiguous.

    view: width and height in cells, inventory rows included. noise_seed: what the night's noise is made of; the same
    numbers give the same picture.
    """
    world = _SceneWorld(scene, np.random.RandomState(list(noise_seed)))
    unit = np.array(size) // np.array(view)
    local = engine.LocalView(world, textures(), scene.grid)(world.center, unit)
    items = engine.ItemView(textures(), (view[0], view[1] - scene.grid[1]))(scene.inventory, unit)
    picture = np.concatenate([local, items], 1)
    canvas = np.zeros((*size, 3), np.uint8)
    left, top = (np.array(size) - unit * np.array(view)) // 2
    canvas[left : left + picture.shape[0], top : top + picture.shape[1]] = picture
    return np.ascontiguousarray(canvas.transpose(1, 0, 2))


def draw_world(state: WorldState, cell: int) -> NDArray[np.uint8]:
    """The whole world by daylight, `cell` pixels a cell: uint8 (height * cell, width * cell, 3), C-contiguous."""
    width, height = state.area
    tiles = np.stack([_tile(name, cell)[..., :3] for name in SEMANTIC_NAMES[: 1 + len(constants.materials)]])
    canvas = tiles[state.materials.T].transpose(0, 2, 1, 3, 4).reshape(height * cell, width * cell, 3)
    for thing in state.things:
        tile = _tile(texture_of(thing, state.player.sleeping), cell).astype(np.float32)
        under = canvas[thing.y * cell : (thing.y + 1) * cell, thing.x * cell : (thing.x + 1) * cell]
        alpha = tile[..., 3:] / 255
        under[:] = (alpha * tile[..., :3] + (1 - alpha) * under).astype(np.uint8)
    return canvas


@functools.cache
def textures() -> engine.Textures:
    """Crafter's pictures, read once in a process."""
    return engine.Textures(constants.root / "assets")


@functools.lru_cache(maxsize=512)
def _tile(name: str, cell: int) -> NDArray[np.uint8]:
    """A texture as uint8 (cell, cell, 4), rows first. Smaller ones are averaged: picking pixels looks like noise."""
    asset = "unknown" if name == SEMANTIC_NAMES[0] else name
    original = textures().get(asset, (_TEXTURE_SIZE, _TEXTURE_SIZE)).transpose(1, 0, 2)
    resample = Image.Resampling.BOX if cell < _TEXTURE_SIZE else Image.Resampling.NEAREST
    image = Image.fromarray(np.ascontiguousarray(original)).convert("RGBA").resize((cell, cell), resample)
    return np.asarray(image)
