"""Descriptions of seeds: what is near the start, difficulty, distances to resources, a picture.

A description depends on seed, world, environment and engine version only, so the store caches it for good. Making one
generates a world, which is slow; `describe_seeds` is lazy.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from core.env import CrafterEnv
from core.env.rules import ENGINE_VERSION, SEMANTIC_IDS
from core.store import TraceStore, World
from core.types import Difficulty, EnvConfig, SeedDescription

RADIUS = 10
"""Manhattan distance from the start within which traits are counted, in cells."""

RESOURCES = ("water", "stone", "coal", "iron", "diamond")
HOSTILES = ("zombie", "skeleton")

_PICTURE_PX = 512  # the longer side; a cell gets a whole number of pixels
_MAX_CELL_PX = 8


def describe_seed(seed: int, *, world_episode: int = 1, env: EnvConfig | None = None) -> SeedDescription:
    """Generate the world and describe it; stores nothing. world_episode: which world of the seed, from 1.

    Raises InvalidSeeds for a seed outside 0 .. 2**31 - 1 or an invalid world_episode, InvalidConfig for an invalid
    environment.
    """
    config = env or EnvConfig()
    world = CrafterEnv.from_config(config, observe=False)
    _, info = world.reset(seed=seed, options={"episode": world_episode})
    start = (int(info["player_pos"][0]), int(info["player_pos"][1]))
    semantic: NDArray[np.uint8] = info["semantic"]
    xs, ys = np.indices(semantic.shape)
    distance = np.abs(xs - start[0]) + np.abs(ys - start[1])
    near = distance <= RADIUS
    trees = _count(semantic, near, ("tree",))
    hostiles = _count(semantic, near, HOSTILES)
    return SeedDescription(
        seed=seed,
        world_episode=world_episode,
        env=config,
        engine_version=ENGINE_VERSION,
        radius=RADIUS,
        trees=trees,
        cows=_count(semantic, near, ("cow",)),
        hostiles=hostiles,
        difficulty=difficulty_of(trees=trees, hostiles=hostiles),
        start=start,
        inventory={name: int(count) for name, count in info["inventory"].items()},
        distances={name: _nearest(semantic, distance, name) for name in RESOURCES},
        picture_png=_picture(world, config.area, start),
    )


def describe_seeds(
    store: TraceStore, seeds: Iterable[int], *, world_episode: int = 1, env: EnvConfig | None = None
) -> Iterator[SeedDescription]:
    """Descriptions in the order of `seeds`, stored ones where possible; new ones are stored unless it is read-only.

    Raises InvalidSeeds and StoreError.
    """
    for seed in seeds:
        known = known_description(store, seed, world_episode=world_episode, env=env)
        if known is None:
            known = describe_seed(seed, world_episode=world_episode, env=env)
            if not store.read_only:
                store.seeds.save(known)
        yield known


def known_description(
    store: TraceStore, seed: int, *, world_episode: int = 1, env: EnvConfig | None = None
) -> SeedDescription | None:
    """The stored description by this engine version, if any. Raises StoreError."""
    return store.seeds.get(seed, world_episode, env or EnvConfig(), ENGINE_VERSION)


def known_difficulties(store: TraceStore, worlds: Iterable[World]) -> dict[World, Difficulty]:
    """The difficulty of those worlds (seed, world, environment) that are described already. Raises StoreError."""
    return store.seeds.difficulties(worlds, ENGINE_VERSION)


def difficulty_of(*, trees: int, hostiles: int) -> Difficulty:
    """The difficulty of a start, by what is within `RADIUS` of it; the first rule that applies."""
    if trees >= 4 and hostiles == 0:
        return Difficulty.EASY
    if trees >= 2 and hostiles <= 2:
        return Difficulty.MEDIUM
    return Difficulty.HARD if hostiles <= 5 else Difficulty.CUSTOM


def _count(semantic: NDArray[np.uint8], near: NDArray[np.bool_], names: tuple[str, ...]) -> int:
    return int(np.isin(semantic[near], [SEMANTIC_IDS[name] for name in names]).sum())


def _nearest(semantic: NDArray[np.uint8], distance: NDArray[np.int_], name: str) -> int | None:
    found = distance[semantic == SEMANTIC_IDS[name]]
    return int(found.min()) if found.size else None


def _picture(world: CrafterEnv, area: tuple[int, int], start: tuple[int, int]) -> bytes:
    """The world as PNG, with a frame around the cells where traits are counted."""
    cell = max(1, min(_MAX_CELL_PX, _PICTURE_PX // max(area)))
    image = Image.fromarray(world.world_image(cell=cell))
    _frame(image, start, cell)
    buffer = io.BytesIO()
    # A palette drops few colours and makes the file a third as big.
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _frame(image: Image.Image, start: tuple[int, int], cell: int) -> None:
    x, y = (start[0] + 0.5) * cell, (start[1] + 0.5) * cell
    reach = (RADIUS + 0.5) * cell
    corners = [(x - reach, y), (x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
    draw = ImageDraw.Draw(image)
    # A dark line under a light one is visible on grass, stone and water.
    draw.line(corners, fill=(11, 14, 19), width=5)
    draw.line(corners, fill=(255, 255, 255), width=2)
