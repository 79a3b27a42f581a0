"""Environments can be copied and pickled, and do not affect each other, in threads either."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

from core.env import CrafterEnv
from core.env.render import Painter
from core.env.rules import ACTIONS
from core.types import EnvConfig
from tests.support.worlds import EnvMaker, beside_a_table

COPIES: list[Callable[[CrafterEnv], CrafterEnv]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])
def test_a_copy_continues_like_the_original_and_neither_affects_the_other(
    env_at: EnvMaker, copied: Callable[[CrafterEnv], CrafterEnv]
):
    env = env_at(140, change=beside_a_table(5, 5))
    other = copied(env)
    before = env.state_digest()
    *_, info = other.step(ACTIONS.index("make_wood_pickaxe"))
    assert info["inventory"]["wood_pickaxe"] == 1
    for step in range(1, 40):
        other.step(step % 17)
        assert env.state_digest() == before
    for step in range(40):
        env.step(ACTIONS.index("make_wood_pickaxe") if step == 0 else step % 17)
    assert env.state_digest() == other.state_digest()


@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])
def test_an_environment_can_be_copied_before_its_first_reset(copied: Callable[[CrafterEnv], CrafterEnv]):
    env = copied(CrafterEnv((20, 30), (7, 9), (90, 90), 50, observe=False))
    assert (env.config, env.size, env.observe) == (EnvConfig((20, 30), (7, 9), 50), (90, 90), False)
    env.reset(seed=1)


def test_threads_can_draw_at_the_same_time(env_at: EnvMaker):
    hours = (5, 60, 100, 140)
    expected = [env_at(hour).render(288) for hour in hours]
    wrong: list[int] = []

    def draw(at: int) -> None:
        env = env_at(hours[at])
        wrong.extend(at for _ in range(60) if not np.array_equal(env.render(288), expected[at]))

    threads = [threading.Thread(target=draw, args=(at,)) for at in range(len(hours))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_cache_of_inventory_pictures_is_bounded():
    painter = Painter((9, 9), (9, 7), (4096, 4096))
    for food in range(10):
        painter.draw(np.full((9, 7), 2, np.uint8), [], (9, food, *[0] * 14), 1.0, False, np.random.random_sample)
    kept = painter._strip.cache_info()  # pyright: ignore[reportPrivateUsage]
    assert (kept.currsize, kept.maxsize) == (1, 1)
