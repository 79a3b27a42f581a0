"""The engine equals the installed `crafter` with ordered chunks, step by step, in its outputs and its state.

This is the quick part; `python -m benchmarks.exactness` covers many more worlds and whole scripted episodes.
"""

from __future__ import annotations

import numpy as np
import opensimplex
import pytest

from core.env.noise import Noise
from core.types import EnvConfig
from tests.support.ordered_upstream import walk_both


def _random_actions(seed: int, steps: int) -> list[int]:
    return np.random.RandomState(seed).randint(0, 17, size=steps).tolist()


def _sleepy_actions(seed: int, steps: int) -> list[int]:
    """Random, with long sleeps: through a night, and until the player is hurt."""
    random = np.random.RandomState(seed)
    return [int(random.randint(0, 17)) if step % 100 < 40 else 6 for step in range(steps)]


def test_random_walks_through_night_and_death_equal_upstream():
    walked = walk_both(EnvConfig(), seed=3, actions=_random_actions(3, 600))
    assert walked.night_steps and walked.asleep_steps and walked.deaths


def test_sleeping_through_a_night_equals_upstream():
    walked = walk_both(EnvConfig((32, 32)), seed=11, actions=_sleepy_actions(11, 600))
    assert walked.night_steps and walked.asleep_steps > 100


def test_without_pictures_the_same_draws_are_made():
    walked = walk_both(EnvConfig((32, 32)), seed=5, actions=_random_actions(5, 500), draws_picture=False)
    assert walked.night_steps


@pytest.mark.parametrize(
    ("area", "view"),
    [
        ((32, 32), (9, 9)),
        ((64, 48), (9, 9)),
        ((13, 29), (7, 8)),
        ((9, 7), (5, 6)),  # nearly all of it is edge
        ((2, 2), (9, 7)),  # a slice that is empty on larger worlds is not here
        ((1, 1), (9, 9)),
        ((24, 24), (16, 9)),
        ((24, 24), (32, 32)),
    ],
    ids=str,
)
def test_other_areas_and_views_equal_upstream(area: tuple[int, int], view: tuple[int, int]):
    walked = walk_both(EnvConfig(area, view), seed=7, actions=_random_actions(7, 120), max_steps=80)
    assert walked.steps == 120


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2])
def test_noise_equals_the_library_in_every_region_of_the_lattice(seed: int):
    random = np.random.default_rng(seed)
    whole = random.integers(-6, 6, (3, 500)) / random.integers(1, 5, (3, 500))  # ties between vertices
    x, y, z = np.concatenate([random.uniform(-300, 300, (3, 1500)), whole], axis=1)
    library = opensimplex.OpenSimplex(seed=seed)
    expected = [library.noise3(*point) for point in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    assert Noise(seed).at(x, y, z).tolist() == expected
