"""Seeds as a person chooses them: what stands near the start, how hard that is, how far the resources are, a picture.

A description is a pure function of seed, world, environment and engine version, so the store keeps it for good and it
is made once. Making one generates a world, which is the slow part; whoever needs many asks for them one at a time.
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
"""Traits count what stands within this Manhattan distance of the start, in cells."""

RESOURCES = ("water", "stone", "coal", "iron", "diamond")
HOSTILES = ("zombie", "skeleton")

_PICTURE_PX = 512  # the longer side; a cell gets a whole number of pixels
_MAX_CELL_PX = 8


def describe_seed(seed: int, *, world_episode: int = 1, env: EnvConfig | None = None) -> SeedDescription:
    """Make the world and look at it. Nothing is stored.

    world_episode: which world of the seed, 1 first. Trees are terrain tiles; hostiles are zombies and skeletons.
    Raises InvalidSeeds for a seed outside 0 .. 2**31 - 1 and a world before the first, InvalidConfig for an environment
    that cannot be made.
    """
    config = env or EnvConfig()
    world = CrafterEnv.from_config(config, observe=False)
    _, info = world.reset(seed=seed, options={"episode": world_episode})
    start = (int(info["player_pos"][0]), int(info["player_pos"][1]))
    semantic: NDArray[np.uint8] = info["semantic"]
    distance = _manhattan(semantic.shape, start)
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
    """Descriptions in the order of `seeds`: the stored one where there is one, else a new one, which is then stored.

    A read-only store is left as it is.
    Raises InvalidSeeds like `describe_seed`, and StoreError.
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
    """The stored description made by this engine; None where it has not been made yet. Quick. Raises StoreError."""
    return store.seeds.get(seed, world_episode, env or EnvConfig(), ENGINE_VERSION)


def known_difficulties(store: TraceStore, worlds: Iterable[World]) -> dict[World, Difficulty]:
    """How hard those of many worlds (seed, world, environment) are that are described already. Raises StoreError."""
    return store.seeds.difficulties(worlds, ENGINE_VERSION)


def difficulty_of(*, trees: int, hostiles: int) -> Difficulty:
    """How hard a start is, by what stands within `RADIUS` of it; the first rule that fits."""
    if trees >= 4 and hostiles == 0:
        return Difficulty.EASY
    if trees >= 2 and hostiles <= 2:
        return Difficulty.MEDIUM
    return Difficulty.HARD if hostiles <= 5 else Difficulty.CUSTOM


def _manhattan(area: tuple[int, ...], start: tuple[int, int]) -> NDArray[np.int_]:
    x, y = np.indices(area)
    return np.abs(x - start[0]) + np.abs(y - start[1])


def _count(semantic: NDArray[np.uint8], near: NDArray[np.bool_], names: tuple[str, ...]) -> int:
    return int(np.isin(semantic[near], [SEMANTIC_IDS[name] for name in names]).sum())


def _nearest(semantic: NDArray[np.uint8], distance: NDArray[np.int_], name: str) -> int | None:
    found = distance[semantic == SEMANTIC_IDS[name]]
    return int(found.min()) if found.size else None


def _picture(world: CrafterEnv, area: tuple[int, int], start: tuple[int, int]) -> bytes:
    """The world as PNG, with the cells that the traits count framed."""
    cell = max(1, min(_MAX_CELL_PX, _PICTURE_PX // max(area)))
    image = Image.fromarray(world.world_image(cell=cell))
    _frame(image, start, cell)
    buffer = io.BytesIO()
    # A palette holds all but a few of the colours and makes the file a third as big.
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _frame(image: Image.Image, start: tuple[int, int], cell: int) -> None:
    x, y = (start[0] + 0.5) * cell, (start[1] + 0.5) * cell
    reach = (RADIUS + 0.5) * cell
    corners = [(x - reach, y), (x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
    draw = ImageDraw.Draw(image)
    # A dark line under a light one shows on grass, stone and water alike.
    draw.line(corners, fill=(11, 14, 19), width=5)
    draw.line(corners, fill=(255, 255, 255), width=2)
