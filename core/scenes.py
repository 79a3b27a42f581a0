"""Scenes packed as columns of bytes, as they are stored and sent to the browser.

One blob holds the scenes of one episode (or of a part of it) in order. Little endian, nothing padded:

| part                | type                    | length                    |                                         |
|---------------------|-------------------------|---------------------------|-----------------------------------------|
| magic               | bytes                   | 4                         | `CSCN`                                  |
| version             | u16                     | 1                         | 1                                       |
| grid                | u8                      | 2                         | width and height of the local view      |
| scenes, sprites     | u32                     | 2                         | n and s                                 |
| names               | u32, then UTF-8 JSON    | 1, then that many bytes   | names beyond the known ones; mostly 0   |
| step                | u32                     | n                         |                                         |
| flags               | u8                      | n                         | bit 0: sleeping                         |
| sprite count        | u16                     | n                         | the sprites of each scene               |
| materials           | u8                      | n x width x height        | scene by scene, x-major as in `Scene`   |
| inventory           | u8                      | n x items                 | scene by scene; 255 if absent           |
| sprites             | u8                      | s, s, s                   | all textures, then all x, then all y    |

Textures and items are indices into `TEXTURES` and `ITEMS`, followed by the blob's own names.
Not compressed: the store and the browser's transport compress a blob as a whole.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidInput
from core.types import Scene, Sprite

VERSION: Final = 1

# The order is part of the format: append only, and raise VERSION.
TEXTURES: Final = (
    *("player-left", "player-right", "player-up", "player-down", "player-sleep"),
    *("cow", "zombie", "skeleton", "plant", "plant-ripe", "sapling", "fence"),
    *("arrow-left", "arrow-right", "arrow-up", "arrow-down"),
)
ITEMS: Final = (
    *("health", "food", "drink", "energy", "sapling", "wood", "stone", "coal", "iron", "diamond"),
    *("wood_pickaxe", "stone_pickaxe", "iron_pickaxe", "wood_sword", "stone_sword", "iron_sword"),
)

_MAGIC: Final = b"CSCN"
_HEADER: Final = struct.Struct("<4sHBBIII")
_SLEEPING: Final = 1
_ABSENT: Final = 255

_Column = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PackedScenes:
    """The columns of one blob; `read_packed` returns views into it.

    steps: uint32 (n,). flags: uint8 (n,). sprite_counts: uint16 (n,). materials: uint8 (n, width * height).
    inventory: uint8 (n, items). sprites: uint8 (3, s), rows texture, x, y.
    """

    grid: tuple[int, int]
    textures: tuple[str, ...]
    items: tuple[str, ...]
    steps: NDArray[np.uint32]
    flags: _Column
    sprite_counts: NDArray[np.uint16]
    materials: _Column
    inventory: _Column
    sprites: _Column

    def __len__(self) -> int:
        return len(self.steps)


def pack_scenes(scenes: Sequence[Scene]) -> bytes:
    """All scenes have the same grid. Raises InvalidInput for numbers that do not fit the format."""
    grid = scenes[0].grid if scenes else (0, 0)
    textures = _with_new(TEXTURES, (sprite.texture for scene in scenes for sprite in scene.sprites))
    items = _with_new(ITEMS, (item for scene in scenes for item in scene.inventory))
    texture_codes = {name: code for code, name in enumerate(textures)}
    sprites = [(texture_codes[s.texture], s.x, s.y) for scene in scenes for s in scene.sprites]
    try:
        packed = PackedScenes(
            grid=grid,
            textures=textures,
            items=items,
            steps=np.array([scene.step for scene in scenes], "<u4"),
            flags=np.array([_SLEEPING * scene.sleeping for scene in scenes], np.uint8),
            sprite_counts=np.array([len(scene.sprites) for scene in scenes], "<u2"),
            materials=np.array([scene.materials for scene in scenes], np.uint8),
            inventory=np.array([[s.inventory.get(item, _ABSENT) for item in items] for s in scenes], np.uint8),
            sprites=np.array(sprites, np.uint8).reshape(-1, 3).T,
        )
        return _write(packed)
    except (OverflowError, ValueError, struct.error) as error:
        raise InvalidInput(f"A scene does not fit the format: {error}.") from error


def unpack_scenes(blob: bytes) -> tuple[Scene, ...]:
    """Raises InvalidInput for a blob that is corrupt or of another version."""
    packed = read_packed(blob)
    textures, xs, ys = cast(list[list[int]], packed.sprites.tolist())
    sprites = [Sprite(packed.textures[texture], x, y) for texture, x, y in zip(textures, xs, ys, strict=True)]
    ends = np.cumsum(packed.sprite_counts).tolist()
    columns = (packed.steps, packed.flags, packed.sprite_counts, packed.materials, packed.inventory)
    rows = zip(*(column.tolist() for column in columns), ends, strict=True)
    return tuple(
        Scene(
            step=step,
            grid=packed.grid,
            materials=tuple(materials),
            sprites=tuple(sprites[end - count : end]),
            inventory={item: n for item, n in zip(packed.items, inventory, strict=True) if n != _ABSENT},
            sleeping=bool(flags & _SLEEPING),
        )
        for step, flags, count, materials, inventory, end in rows
    )


def concat_packed(blobs: Iterable[bytes]) -> bytes:
    """One blob with the scenes of all blobs. Raises InvalidInput for a corrupt blob or different grids."""
    parts = [part for part in map(read_packed, blobs) if len(part)]
    if not parts:
        return pack_scenes(())
    grid = parts[0].grid
    for part in parts:
        if part.grid != grid:
            raise InvalidInput(f"Cannot join scenes of a {grid} view and a {part.grid} view.")
    textures = _with_new(TEXTURES, (name for part in parts for name in part.textures))
    items = _with_new(ITEMS, (name for part in parts for name in part.items))
    return _write(
        PackedScenes(
            grid=grid,
            textures=textures,
            items=items,
            steps=np.concatenate([part.steps for part in parts]),
            flags=np.concatenate([part.flags for part in parts]),
            sprite_counts=np.concatenate([part.sprite_counts for part in parts]),
            materials=np.concatenate([part.materials for part in parts]),
            inventory=np.concatenate([_inventory_as(part, items) for part in parts]),
            sprites=np.concatenate([_sprites_as(part, textures) for part in parts], axis=1),
        )
    )


def read_packed(blob: bytes) -> PackedScenes:
    """Raises InvalidInput for a blob that is corrupt or of another version."""
    if len(blob) < _HEADER.size:
        raise InvalidInput(f"The stored scenes are corrupt: {len(blob)} bytes are too short for a header.")
    magic, version, width, height, n_scenes, n_sprites, n_names = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise InvalidInput("The stored scenes are corrupt: wrong first bytes.")
    if version != VERSION:
        raise InvalidInput(
            f"The stored scenes have format {version}; this program reads format {VERSION}. Open them with the "
            "version of Craftscope that wrote them."
        )
    textures, items = _read_names(blob[_HEADER.size : _HEADER.size + n_names])
    sizes = (4 * n_scenes, n_scenes, 2 * n_scenes, width * height * n_scenes, len(items) * n_scenes, 3 * n_sprites)
    start = _HEADER.size + n_names
    if len(blob) != start + sum(sizes):
        raise InvalidInput(f"The stored scenes are corrupt: expected {start + sum(sizes)} bytes, found {len(blob)}.")
    bounds = [start + sum(sizes[:index]) for index in range(len(sizes) + 1)]
    columns = [memoryview(blob)[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]
    return PackedScenes(
        grid=(width, height),
        textures=textures,
        items=items,
        steps=np.frombuffer(columns[0], "<u4"),
        flags=np.frombuffer(columns[1], np.uint8),
        sprite_counts=np.frombuffer(columns[2], "<u2"),
        materials=np.frombuffer(columns[3], np.uint8).reshape(n_scenes, width * height),
        inventory=np.frombuffer(columns[4], np.uint8).reshape(n_scenes, len(items)),
        sprites=np.frombuffer(columns[5], np.uint8).reshape(3, n_sprites),
    )


def _write(packed: PackedScenes) -> bytes:
    extra = {"textures": packed.textures[len(TEXTURES) :], "items": packed.items[len(ITEMS) :]}
    names = json.dumps(extra).encode() if any(extra.values()) else b""
    width, height = packed.grid
    header = _HEADER.pack(_MAGIC, VERSION, width, height, len(packed), packed.sprites.shape[1], len(names))
    columns = (packed.steps, packed.flags, packed.sprite_counts, packed.materials, packed.inventory, packed.sprites)
    return b"".join((header, names, *(column.tobytes() for column in columns)))


def _read_names(text: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not text:
        return TEXTURES, ITEMS
    try:
        extra = cast(dict[str, Any], json.loads(text))
        return (*TEXTURES, *map(str, extra["textures"])), (*ITEMS, *map(str, extra["items"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput("The stored scenes are corrupt: unreadable list of names.") from error


def _with_new(known: tuple[str, ...], names: Iterable[str]) -> tuple[str, ...]:
    """The known names, then the others in order of appearance."""
    return tuple(dict.fromkeys((*known, *names)))


def _inventory_as(part: PackedScenes, items: tuple[str, ...]) -> _Column:
    if part.items == items:
        return part.inventory
    columns = np.full((len(part), len(items)), _ABSENT, np.uint8)
    columns[:, [items.index(item) for item in part.items]] = part.inventory
    return columns


def _sprites_as(part: PackedScenes, textures: tuple[str, ...]) -> _Column:
    if part.textures == textures[: len(part.textures)]:
        return part.sprites
    sprites = part.sprites.copy()
    sprites[0] = np.array([textures.index(name) for name in part.textures], np.uint8)[part.sprites[0]]
    return sprites
