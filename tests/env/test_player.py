"""What the player can do where upstream's own slices say so."""

from __future__ import annotations

import pytest

from core.env.rules import ACTIONS
from tests.support.worlds import EnvMaker, beside_a_table


@pytest.mark.parametrize(("x", "y", "made"), [(1, 1, 1), (0, 5, 0), (5, 0, 0), (0, 0, 0), (62, 62, 1)])
def test_nothing_is_made_at_the_left_and_upper_edge(env_at: EnvMaker, x: int, y: int, made: int) -> None:
    env = env_at(change=beside_a_table(x, y))
    *_, info = env.step(ACTIONS.index("make_wood_pickaxe"))
    assert info["inventory"]["wood_pickaxe"] == made
    assert info["inventory"]["wood"] == 1 - made
