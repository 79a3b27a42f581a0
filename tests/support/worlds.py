"""A first world to start from: made once, then restored from its snapshot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from core.env import CrafterEnv
from core.env.rules import ITEMS, SEMANTIC_IDS
from core.env.snapshot import unpack_snapshot
from core.env.state import Chunk, WorldState
from core.types import EnvConfig

SEED = 42
Change = Callable[[WorldState], WorldState]
EnvMaker = Callable[..., CrafterEnv]


@functools.cache
def first_snapshot() -> bytes:
    """The first world of SEED after reset."""
    env = CrafterEnv()
    env.reset(seed=SEED)
    return env.snapshot()


def first_state() -> WorldState:
    """The same, as values."""
    return unpack_snapshot(first_snapshot(), EnvConfig())


def beside_a_table(x: int, y: int) -> Change:
    """Alone in the world at (x, y), with wood and a table one cell further from both edges."""

    def change(state: WorldState) -> WorldState:
        materials = state.materials.copy()
        materials[x + 1, y + 1] = SEMANTIC_IDS["table"]
        player = state.things[0]._replace(x=x, y=y)
        inventory = tuple(
            1 if item == "wood" else held for item, held in zip(ITEMS, state.player.inventory, strict=True)
        )
        return replace(
            state,
            materials=materials,
            things=(player,),
            chunks=(Chunk(x - x % 12, y - y % 12, (0,)),),
            player=replace(state.player, inventory=inventory),
        )

    return change
