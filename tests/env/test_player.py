"""What the player can do where upstream's own slices say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.env.rules import ACTIONS, ITEMS, SEMANTIC_IDS
from core.env.state import Chunk, WorldState
from tests.env.conftest import Change, EnvMaker


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


@pytest.mark.parametrize(("x", "y", "made"), [(1, 1, 1), (0, 5, 0), (5, 0, 0), (0, 0, 0), (62, 62, 1)])
def test_nothing_is_made_at_the_left_and_upper_edge(env_at: EnvMaker, x: int, y: int, made: int) -> None:
    env = env_at(change=beside_a_table(x, y))
    *_, info = env.step(ACTIONS.index("make_wood_pickaxe"))
    assert info["inventory"]["wood_pickaxe"] == made
    assert info["inventory"]["wood"] == 1 - made
