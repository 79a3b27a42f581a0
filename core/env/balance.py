"""Balances the population of each chunk, every tenth step.

Must equal upstream's `Env._balance_chunk` in every draw: chunks in order of their first insertion, in each of them
zombies, skeletons, cows. A draw is made only where there are too few or too many; then one for whether anything
happens, one for which cell or which creature. The cell is the n-th of the wanted material in x-major order, the
creature the n-th of its kind in the order in which they entered the chunk. Chunks that never held a thing are skipped.
"""

from __future__ import annotations

import numpy as np

from core.env.objects import Cow, Skeleton, Zombie
from core.env.player import Player
from core.env.rules import SEMANTIC_IDS, max_zombies
from core.env.state import COW, SKELETON, ZOMBIE
from core.env.world import Chunk, World

_GRASS, _PATH = SEMANTIC_IDS["grass"], SEMANTIC_IDS["path"]


def balance(world: World, player: Player) -> None:
    """Spawn and despawn creatures."""
    sample, light = world.random.sample, world.daylight
    # Upstream truncates its targets to whole numbers; those that do not depend on the chunk are computed once.
    zombie_limit, max_cows = max_zombies(light), int(1.5 + light)
    for chunk in list(world.chunks):
        grass, path, counts = chunk.grass, chunk.path, chunk.counts
        zombies = counts[ZOMBIE]
        if zombies < (0 if grass < 50 else zombie_limit):
            if sample() < 0.3 and (place := _spawn_cell(world, player, chunk, _GRASS, grass, 6)):
                world.add(Zombie(world, *place, player))
        elif zombies > zombie_limit and sample() < 0.4:
            _despawn(world, player, chunk, ZOMBIE, 0)
        skeletons = counts[SKELETON]
        if skeletons < (0 if path < 6 else 1):
            if sample() < 0.1 and (place := _spawn_cell(world, player, chunk, _PATH, path, 7)):
                world.add(Skeleton(world, *place, player))
        elif skeletons > 2 and sample() < 0.1:
            _despawn(world, player, chunk, SKELETON, 7)
        cows = counts[COW]
        if cows < (0 if grass < 30 else 1):
            if sample() < 0.01 and (place := _spawn_cell(world, player, chunk, _GRASS, grass, 5)):
                world.add(Cow(world, *place))
        elif cows > max_cows and sample() < 0.1:
            _despawn(world, player, chunk, COW, 5)


def _spawn_cell(
    world: World, player: Player, chunk: Chunk, material: int, cells: int, min_distance: int
) -> tuple[int, int] | None:
    """One of the chunk's `cells` of `material`, by one draw; None if it is taken or too close to the player."""
    x, y = _nth(world, chunk, material, world.random.below(0, cells))
    is_free = world.cell(x, y) not in world.thing_at
    return (x, y) if is_free and abs(x - player.x) + abs(y - player.y) >= min_distance else None


def _despawn(world: World, player: Player, chunk: Chunk, kind: int, min_distance: int) -> None:
    """Draw one of the chunk's creatures of `kind`; remove it unless it is too close to the player."""
    drawn = world.random.below(0, chunk.counts[kind])
    creature = [thing for thing in chunk.members if thing.kind == kind][drawn]
    if creature.distance(player) >= min_distance:
        world.remove(creature)


def _nth(world: World, chunk: Chunk, material: int, n: int) -> tuple[int, int]:
    margin = world.margin
    part = world.material_map[chunk.x + margin : chunk.x_end + margin, chunk.y + margin : chunk.y_end + margin]
    x, y = divmod(int(np.flatnonzero(part == material)[n]), chunk.y_end - chunk.y)
    return chunk.x + x, chunk.y + y
