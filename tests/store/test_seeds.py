"""Descriptions of seeds are kept once for each world, environment and engine."""

from __future__ import annotations

from dataclasses import replace

from core.store import TraceStore
from core.types import Difficulty, EnvConfig, SeedDescription

DESCRIPTION = SeedDescription(
    seed=42,
    world_episode=1,
    env=EnvConfig(),
    engine_version="engine-1",
    radius=8,
    trees=12,
    cows=3,
    hostiles=0,
    difficulty=Difficulty.EASY,
    start=(32, 32),
    inventory={"health": 9},
    distances={"water": 4, "diamond": None},
    picture_png=b"\x89PNG\x00\xff",
)


def test_a_description_comes_back_equal(store: TraceStore):
    store.save_seed_description(DESCRIPTION)
    assert store.seed_description(42, 1, EnvConfig(), "engine-1") == DESCRIPTION


def test_other_worlds_environments_and_engines_have_their_own(store: TraceStore):
    store.save_seed_description(DESCRIPTION)
    assert store.seed_description(43, 1, EnvConfig(), "engine-1") is None
    assert store.seed_description(42, 2, EnvConfig(), "engine-1") is None
    assert store.seed_description(42, 1, EnvConfig(area=(32, 32)), "engine-1") is None
    assert store.seed_description(42, 1, EnvConfig(), "engine-2") is None


def test_a_new_description_takes_the_place_of_the_old_one(store: TraceStore):
    store.save_seed_description(DESCRIPTION)
    store.save_seed_description(replace(DESCRIPTION, trees=13))
    found = store.seed_description(42, 1, EnvConfig(), "engine-1")
    assert found is not None and found.trees == 13
