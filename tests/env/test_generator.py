"""The world's generator draws as numpy's legacy one does; reading its state changes nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from core.env.generator import WorldRandom

SEED = 7


def test_every_draw_equals_the_slower_call_of_upstream():
    ours, upstream = WorldRandom(SEED), np.random.RandomState(SEED)
    for high in range(1, 200):
        assert ours.sample() == upstream.uniform()
        assert ours.word() & 3 == upstream.randint(0, 4)
        assert ours.below(0, high) == upstream.randint(0, high)
    assert np.array_equal(32 + 95 * ours.samples((9, 7)), upstream.uniform(32, 127, (9, 7)))
    ours.skip_samples(1001)
    upstream.uniform(32, 127, 1001)
    assert ours.sample() == upstream.uniform()


def test_the_state_equals_numpys_and_reading_it_changes_nothing():
    ours, upstream = WorldRandom(SEED), np.random.RandomState(SEED)
    for count in (0, 1, 311, 312, 1000):
        ours.skip_samples(count)
        upstream.random_sample(count)
        _, key, position, *_ = cast(tuple[Any, ...], upstream.get_state(legacy=True))
        state = ours.read()
        assert (state.key, state.position) == (key.astype("<u4").tobytes(), position)
    assert ours.sample() == upstream.random_sample()


def test_a_generator_continues_from_a_state():
    ours, other = WorldRandom(SEED), WorldRandom(SEED + 1)
    ours.skip_samples(100)
    other.set(ours.read())
    assert [other.sample() for _ in range(700)] == [ours.sample() for _ in range(700)]
