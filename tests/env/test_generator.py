"""The generator's state is read whole, by the quick way and by the plain one."""

from __future__ import annotations

import numpy as np
import pytest

from core.env import generator
from core.env.generator import read_generator, set_generator


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 5_000])
def test_both_ways_of_reading_agree_with_numpy(monkeypatch: pytest.MonkeyPatch, draws: int) -> None:
    random = np.random.RandomState(draws)
    random.randint(0, 4, size=draws)
    quick = read_generator(random)
    monkeypatch.setattr(generator, "_can_read_at_once", lambda: False)
    assert read_generator(random) == quick
    assert quick.position == random.get_state(legacy=False)["state"]["pos"]


def test_a_set_generator_goes_on_identically() -> None:
    random = np.random.RandomState(3)
    random.random_sample(777)
    other = np.random.RandomState(4)
    set_generator(other, read_generator(random))
    assert np.array_equal(other.random_sample(2_000), random.random_sample(2_000))
