"""Draws scenes (the world around the player and the inventory under it) and whole worlds.

Must equal upstream's `LocalView` and `ItemView` pixel for pixel, and in the random numbers that a night takes: one for
each pixel of the local view, x-major. What makes that exact:

- a thing is blended into its cell's texture in float32 / 255 and truncated to bytes;
- by day the light is a function of the pixel alone, so each different cell is lit once; a night adds noise to each
  pixel first, but mixes in the picture without noise;
- the mix is `daylight * canvas + (1 - daylight) * night` in float64, truncated to bytes at the end. Sleep
  truncates to bytes before it removes the colours.

Nothing here knows a simulation; the caller supplies the random numbers of the noise.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from crafter import constants, engine
from numpy.typing import NDArray
from PIL import Image

from core.env.rules import ITEMS, SEMANTIC_NAMES
from core.env.scene import texture_of
from core.env.state import WorldState
from core.types import Floats, Scene

Pixels = NDArray[np.uint8]
_Number = TypeVar("_Number", bound=np.generic)

_TEXTURE_SIZE = 16  # pixels, of every asset
_OUTSIDE = 127  # the gray of cells outside the world
_NIGHT_TINT = (0, 16, 64)
_SLEEP_BLUE = 8.0
_NOISE_LOW, _NOISE_HIGH = 32, 127
_MIN_TILES = 32


class Painter:
    """Draws scenes of one view at one size.

    view: width and height in cells, inventory rows included; grid: the part of it that shows the world.
    size: width and height in pixels. local: those of the local view; where daylight is below 0.5, a picture takes one
    random number a pixel of it.
    """

    def __init__(self, view: tuple[int, int], grid: tuple[int, int], size: tuple[int, int]) -> None:
        self._grid = grid
        self._size = size
        self._unit = unit = (size[0] // view[0], size[1] // view[1])
        self.local = (grid[0] * unit[0], grid[1] * unit[1])
        left, top = (size[0] - unit[0] * view[0]) // 2, (size[1] - unit[1] * view[1]) // 2
        self._across = slice(left, left + self.local[0])
        self._down = slice(top, top + self.local[1])
        rows = view[1] - grid[1]
        self._strip_down = slice(top + self.local[1], top + self.local[1] + rows * unit[1])
        self._items = engine.ItemView(textures(), (view[0], rows))
        # A tile for each material (its number is the material's id), and later for each thing seen on a material.
        self._tiles = np.zeros((_MIN_TILES, unit[1], unit[0], 3), np.uint8)
        self._nights = np.zeros(self._tiles.shape, np.uint16)
        self._lit = np.zeros_like(self._tiles)
        self._numbers: dict[tuple[int, str], int] = {}
        self._count = 0
        for material in range(1 + len(constants.materials)):
            self._add(self._ground(material))
        strip_bytes = 3 * self.local[0] * rows * unit[1]
        self._strip = functools.lru_cache(maxsize=max(1, _MAX_STRIP_BYTES // strip_bytes))(self._make_strip)
        self._slot = functools.lru_cache(maxsize=max(1, _MAX_STRIP_BYTES // (3 * unit[0] * unit[1])))(self._make_slot)
        self._lock = threading.Lock()  # the dashboard draws in as many threads as it has visitors

    def draw(
        self,
        materials: NDArray[np.uint8],
        sprites: Iterable[tuple[int, int, str]],
        inventory: tuple[int, ...],
        daylight: float,
        sleeping: bool,
        samples: Callable[[tuple[int, int]], Floats],
    ) -> Pixels:
        """The picture: uint8 (height, width, 3), C-contiguous.

        materials: ids, uint8 of the grid's shape, 0 outside the world. sprites: (x, y, texture) in that grid.
        inventory: amounts in the order of `rules.ITEMS`. samples: gives random numbers in [0, 1), asked once at night.
        """
        picture = np.zeros((self._size[1], self._size[0], 3), np.uint8)
        local = picture[self._down, self._across]
        cells = materials.T.astype(np.intp)
        with self._lock:
            for x, y, texture in sprites:
                cells[y, x] = self._number(int(cells[y, x]), texture)
            if daylight < 0.5:
                self._paint_night(local, cells, daylight, sleeping, samples(self.local))
            else:
                self._paint_day(local, cells, daylight, sleeping)
            picture[self._strip_down, self._across] = self._strip(inventory)
        return picture

    def _paint_day(self, local: Pixels, cells: NDArray[np.intp], daylight: float, sleeping: bool) -> None:
        seen = list(set(cells.ravel().tolist()))
        mixed = _mix(self._tiles.take(seen, axis=0), self._nights.take(seen, axis=0), daylight)
        if sleeping:
            _planes(mixed)[:] = _asleep(_planes(mixed).astype(np.intp))
        self._lit[seen] = mixed
        self._draw_tiles(local, self._lit, cells)

    def _paint_night(
        self, local: Pixels, cells: NDArray[np.intp], daylight: float, sleeping: bool, samples: Floats
    ) -> None:
        self._draw_tiles(local, self._tiles, cells)
        mask = 2 * (0.5 - daylight) * _vignette(self.local)
        clear, noise = 1 - mask, mask * (_NOISE_LOW + (_NOISE_HIGH - _NOISE_LOW) * samples).T
        for start in range(0, len(local), _ROWS_AT_ONCE):  # so that the temporary arrays stay in the cache
            rows = slice(start, start + _ROWS_AT_ONCE)
            planes = _planes(local[rows])
            noisy = clear[rows] * planes
            noisy += noise[rows]
            mixed = _mix(planes, _night(noisy.astype(np.intp)), daylight)
            planes[:] = _asleep(mixed.astype(np.intp)) if sleeping else mixed

    def _draw_tiles(self, local: Pixels, tiles: Pixels, cells: NDArray[np.intp]) -> None:
        (width, height), (across, down) = self._grid, self._unit
        local.reshape(height, down, width, across, 3)[:] = tiles.take(cells, axis=0).transpose(0, 2, 1, 3, 4)

    def _number(self, material: int, texture: str) -> int:
        number = self._numbers.get((material, texture))
        if number is None:
            tile = _blend(self._tiles[material], self._texture(texture))
            number = self._numbers[material, texture] = self._add(tile)
        return number

    def _add(self, tile: Pixels) -> int:
        number = self._count
        if number == len(self._tiles):
            more = np.zeros_like(self._tiles)
            self._tiles, self._lit = (np.concatenate([tiles, more]) for tiles in (self._tiles, self._lit))
            self._nights = np.concatenate([self._nights, more.astype(np.uint16)])
        self._tiles[number] = tile
        _planes(self._nights)[:, number] = _night(_planes(tile).astype(np.intp))
        self._count += 1
        return number

    def _ground(self, material: int) -> Pixels:
        if material == 0:
            return np.full((self._unit[1], self._unit[0], 3), _OUTSIDE, np.uint8)
        return self._texture(SEMANTIC_NAMES[material])[..., :3]

    def _texture(self, name: str) -> Pixels:
        return textures().get(name, self._unit).transpose(1, 0, 2)

    def _make_strip(self, inventory: tuple[int, ...]) -> Pixels:
        """The inventory, assembled from cached slots: an item and its number stay within their cell."""
        strip = np.zeros((self._strip_down.stop - self._strip_down.start, self.local[0], 3), np.uint8)
        for index, amount in enumerate(inventory):
            if amount > 0:
                strip[self._slot_at(index)] = self._slot(index, amount)
        return strip

    def _make_slot(self, index: int, amount: int) -> Pixels:
        only = {item: amount if at == index else 0 for at, item in enumerate(ITEMS)}
        return self._items(only, np.array(self._unit)).transpose(1, 0, 2)[self._slot_at(index)].copy()

    def _slot_at(self, index: int) -> tuple[slice, slice]:
        (across, down), (row, column) = self._unit, divmod(index, self._grid[0])
        return slice(row * down, (row + 1) * down), slice(column * across, (column + 1) * across)


_ROWS_AT_ONCE = 64
_MAX_STRIP_BYTES = 4_000_000  # of inventory pictures that a painter caches
_MAX_CACHED_PX = 1_024  # of a side; the tiles of larger pictures would hold hundreds of megabytes


def painter(view: tuple[int, int], grid: tuple[int, int], size: tuple[int, int]) -> Painter:
    """The painter of a view and a size. It caches what it has blended; threads may share it."""
    return _cached_painter(view, grid, size) if max(size) <= _MAX_CACHED_PX else Painter(view, grid, size)


_cached_painter = functools.lru_cache(maxsize=8)(Painter)


def draw_scene(
    scene: Scene, view: tuple[int, int], size: tuple[int, int], noise_seed: Sequence[int]
) -> NDArray[np.uint8]:
    """Draw `scene` as upstream would at `size` (width, height in pixels): uint8 (height, width, 3), C-contiguous.

    view: width and height in cells, inventory rows included. noise_seed: seeds the night's noise; the same numbers
    give the same picture.
    """
    return painter(view, scene.grid, size).draw(
        np.array(scene.materials, np.uint8).reshape(scene.grid),
        [(sprite.x, sprite.y, sprite.texture) for sprite in scene.sprites],
        tuple(scene.inventory.get(item, 0) for item in ITEMS),
        scene.daylight,
        scene.sleeping,
        np.random.RandomState(list(noise_seed)).random_sample,
    )


def draw_world(state: WorldState, cell: int) -> NDArray[np.uint8]:
    """The whole world by daylight, `cell` pixels a cell: uint8 (height * cell, width * cell, 3), C-contiguous."""
    width, height = state.area
    tiles = np.stack([_tile(name, cell)[..., :3] for name in SEMANTIC_NAMES[: 1 + len(constants.materials)]])
    canvas = tiles[state.materials.T].transpose(0, 2, 1, 3, 4).reshape(height * cell, width * cell, 3)
    for thing in state.things:
        under = canvas[thing.y * cell : (thing.y + 1) * cell, thing.x * cell : (thing.x + 1) * cell]
        tile = _tile(texture_of(thing, state.player.sleeping), cell).astype(np.float32)
        alpha = tile[..., 3:] / 255
        under[:] = (alpha * tile[..., :3] + (1 - alpha) * under).astype(np.uint8)
    return canvas


@functools.cache
def textures() -> engine.Textures:
    """Crafter's textures, read once in a process."""
    return engine.Textures(constants.root / "assets")


@functools.lru_cache(maxsize=512)
def _tile(name: str, cell: int) -> NDArray[np.uint8]:
    """A texture as uint8 (cell, cell, 4), rows first. Smaller ones are averaged: picking pixels looks like noise."""
    asset = "unknown" if name == SEMANTIC_NAMES[0] else name
    original = textures().get(asset, (_TEXTURE_SIZE, _TEXTURE_SIZE)).transpose(1, 0, 2)
    resample = Image.Resampling.BOX if cell < _TEXTURE_SIZE else Image.Resampling.NEAREST
    image = Image.fromarray(np.ascontiguousarray(original)).convert("RGBA").resize((cell, cell), resample)
    return np.asarray(image)


def _blend(ground: Pixels, texture: Pixels) -> Pixels:
    if texture.shape[-1] != 4:
        return texture
    alpha = texture[..., 3:].astype(np.float32) / 255
    over, under = texture[..., :3].astype(np.float32) / 255, ground.astype(np.float32) / 255
    return (255 * (alpha * over + (1 - alpha) * under)).astype(np.uint8)


def _planes(pixels: NDArray[_Number]) -> NDArray[_Number]:
    """A view with the channel first: numpy is slow at an innermost axis of three."""
    return np.moveaxis(pixels, -1, 0)


def _mix(canvas: Pixels, night: NDArray[np.uint16], daylight: float) -> Floats:
    """Pixels in the light of the hour; `night` is what `_night` gives for them, with noise or without."""
    mixed = daylight * canvas.astype(np.float64)
    mixed += (0.5 * (1 - daylight)) * night  # half of a sum, as halving is exact at any place in a product
    return mixed


def _night(planes: NDArray[np.intp]) -> NDArray[np.uint16]:
    """Twice what a night looks like: pale colours and a tint."""
    night = np.empty(planes.shape, np.uint16)
    gray = _gray(planes) << 8
    for channel, table in enumerate(_night_tables()):
        table.take(planes[channel] | gray, out=night[channel], mode="wrap")  # which checks less than other modes
    return night


def _asleep(planes: NDArray[np.intp]) -> Floats:
    """Without colours, dark, a little blue."""
    asleep = np.empty(planes.shape)
    np.multiply(0.5, _gray(planes), out=asleep[0])
    asleep[1] = asleep[0]
    np.add(asleep[0], _SLEEP_BLUE, out=asleep[2])
    return asleep


def _gray(planes: NDArray[np.intp]) -> NDArray[np.intp]:
    """One plane without colours, as Pillow converts to "L"."""
    red, green, blue = planes
    return (19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16


@functools.cache
def _night_tables() -> tuple[NDArray[np.uint16], ...]:
    """For each channel, at 256 * gray + channel: Pillow's blend of both as `ImageEnhance.Color` has it, and the tint.

    Pillow computes it, because its rounding depends on its compiler.
    """
    gray, channel = np.indices((256, 256), np.uint8)
    pale = np.asarray(Image.blend(Image.fromarray(gray), Image.fromarray(channel), 0.4)).ravel()
    return tuple(pale + np.uint16(tint) for tint in _NIGHT_TINT)


@functools.lru_cache(maxsize=4)
def _vignette(shape: tuple[int, int]) -> Floats:
    """How strong the noise is at each pixel, (height, width): 0 in the middle."""
    across, down = (np.linspace(-1, 1, side) for side in shape)
    squares: Floats = across[None, :] ** 2 + down[:, None] ** 2
    return 1 - np.exp(-0.5 * squares / (0.5**2))
