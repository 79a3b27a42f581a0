"""Descriptions of seeds agree with the world that the seed generates."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.dataset import (
    RADIUS,
    RESOURCES,
    describe_seed,
    describe_seeds,
    difficulty_of,
    known_description,
)
from core.env import CrafterEnv
from core.env.rules import SEMANTIC_IDS
from core.errors import InvalidConfig, InvalidSeeds
from core.store import TraceStore
from core.types import Difficulty, EnvConfig, SeedDescription

# A small world is made much faster; the rules are the same.
SMALL = EnvConfig(area=(24, 20))


@pytest.fixture(scope="module")
def seed_42() -> SeedDescription:
    return describe_seed(42)


@pytest.fixture(scope="module")
def world_42() -> np.ndarray:
    """The semantic map of seed 42, indexed [x][y]."""
    return CrafterEnv(observe=False).reset(seed=42)[1]["semantic"]


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(f"sqlite:///{tmp_path / 'seeds.db'}")


def _within_radius(description: SeedDescription, semantic: np.ndarray, names: tuple[str, ...]) -> int:
    """Counted cell by cell, unlike in the product."""
    x0, y0 = description.start
    ids = {SEMANTIC_IDS[name] for name in names}
    return sum(
        int(semantic[x, y]) in ids and abs(x - x0) + abs(y - y0) <= RADIUS
        for x in range(semantic.shape[0])
        for y in range(semantic.shape[1])
    )


def test_traits_count_what_stands_within_the_radius(seed_42: SeedDescription, world_42: np.ndarray):
    assert seed_42.trees == _within_radius(seed_42, world_42, ("tree",))
    assert seed_42.cows == _within_radius(seed_42, world_42, ("cow",))
    assert seed_42.hostiles == _within_radius(seed_42, world_42, ("zombie", "skeleton"))
    assert seed_42.radius == RADIUS == 10
    assert seed_42.start == (32, 32)
    assert (seed_42.inventory["health"], seed_42.inventory["wood"]) == (9, 0)


def test_trees_are_terrain_and_so_are_found():
    # Counting plants of kind "tree", which do not exist, would always give 0.
    assert any(describe_seed(seed, env=SMALL).trees > 0 for seed in range(4))


def test_distances_lead_to_the_nearest_tile_of_each_resource(seed_42: SeedDescription, world_42: np.ndarray):
    x0, y0 = seed_42.start
    assert tuple(seed_42.distances) == RESOURCES
    for name, distance in seed_42.distances.items():
        tiles = np.argwhere(world_42 == SEMANTIC_IDS[name])
        nearest = min((abs(int(x) - x0) + abs(int(y) - y0) for x, y in tiles), default=None)
        assert distance == nearest, name


def test_a_world_without_a_resource_says_none():
    tiny = describe_seed(3, env=EnvConfig(area=(5, 5)))
    assert tiny.distances["diamond"] is None


@pytest.mark.parametrize(
    ("trees", "hostiles", "difficulty"),
    [
        (4, 0, Difficulty.EASY),
        (3, 0, Difficulty.MEDIUM),
        (4, 1, Difficulty.MEDIUM),
        (2, 2, Difficulty.MEDIUM),
        (1, 0, Difficulty.HARD),
        (9, 3, Difficulty.HARD),
        (0, 5, Difficulty.HARD),
        (9, 6, Difficulty.CUSTOM),
    ],
)
def test_difficulty_is_the_first_rule_that_fits(trees: int, hostiles: int, difficulty: Difficulty):
    assert difficulty_of(trees=trees, hostiles=hostiles) is difficulty


def test_the_picture_shows_the_whole_world_in_its_shape(seed_42: SeedDescription):
    image = Image.open(io.BytesIO(seed_42.picture_png))
    assert (image.format, image.size) == ("PNG", (512, 512))
    image = Image.open(io.BytesIO(describe_seed(1, env=SMALL).picture_png))
    assert image.width * 20 == image.height * 24


def test_each_world_of_a_seed_has_its_own_description():
    first, second = describe_seed(5, env=SMALL), describe_seed(5, world_episode=2, env=SMALL)
    assert second.world_episode == 2
    assert first.picture_png != second.picture_png
    assert first == describe_seed(5, env=SMALL)


def test_descriptions_keep_the_given_order_and_are_stored(store: TraceStore):
    made = list(describe_seeds(store, (8, 3), env=SMALL))
    assert [description.seed for description in made] == [8, 3]
    assert [known_description(store, seed, env=SMALL) for seed in (8, 3)] == made


def test_a_stored_description_is_reused(store: TraceStore):
    (made,) = describe_seeds(store, (8,), env=SMALL)
    store.seeds.save(replace(made, picture_png=b"stored"))
    assert next(describe_seeds(store, (8,), env=SMALL)).picture_png == b"stored"


def test_descriptions_are_made_lazily(store: TraceStore):
    descriptions = describe_seeds(store, (1, 2), env=SMALL)
    next(descriptions)
    assert known_description(store, 1, env=SMALL) is not None
    assert known_description(store, 2, env=SMALL) is None


def test_descriptions_are_stored_per_environment(store: TraceStore):
    list(describe_seeds(store, (1,), env=SMALL))
    assert known_description(store, 1, env=EnvConfig(area=(20, 24))) is None
    assert known_description(store, 1, world_episode=2, env=SMALL) is None


def test_an_invalid_seed_or_environment_is_rejected():
    with pytest.raises(InvalidSeeds, match="2147483647"):
        describe_seed(-1, env=SMALL)
    with pytest.raises(InvalidConfig, match="area"):
        describe_seed(1, env=EnvConfig(area=(0, 64)))
