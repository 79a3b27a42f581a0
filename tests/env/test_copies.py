"""An environment can be copied, pickled and shared between threads, and nothing of one shows in another."""

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
from tests.support.worlds import EnvMaker, beside_a_table

COPIES: list[Callable[[CrafterEnv], CrafterEnv]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])
def test_a_copy_goes_on_as_the_original_and_neither_sees_the_other(
    env_at: EnvMaker, copied: Callable[[CrafterEnv], CrafterEnv]
) -> None:
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
def test_a_copy_before_the_first_reset_has_no_world_either(copied: Callable[[CrafterEnv], CrafterEnv]) -> None:
    env = copied(CrafterEnv((20, 30), (7, 9), (90, 90), 50, observe=False))
    assert (env.config.area, env.config.view, env.size, env.config.length, env.observe) == (
        (20, 30),
        (7, 9),
        (90, 90),
        50,
        False,
    )
    env.reset(seed=1)


def test_threads_that_draw_at_different_hours_do_not_disturb_each_other(env_at: EnvMaker) -> None:
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


def test_what_a_painter_keeps_of_inventories_is_bounded() -> None:
    painter = Painter((9, 9), (9, 7), (4096, 4096))
    for food in range(10):
        painter.draw(np.full((9, 7), 2, np.uint8), [], (9, food, *[0] * 14), 1.0, False, np.random.random_sample)
    kept = painter._strip.cache_info()  # pyright: ignore[reportPrivateUsage]
    assert (kept.currsize, kept.maxsize) == (1, 1)
