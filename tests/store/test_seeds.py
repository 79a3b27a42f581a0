"""Descriptions of seeds are stored once for each world, environment and engine."""

from __future__ import annotations

from dataclasses import replace

from core.store import TraceStore
from core.types import Difficulty, EnvConfig
from tests.support.records import SEED_DESCRIPTION


def test_a_description_is_read_as_it_was_saved_and_replaced_by_a_newer_one(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    assert store.seeds.get(42, 1, EnvConfig(), "engine-1") == SEED_DESCRIPTION
    store.seeds.save(replace(SEED_DESCRIPTION, trees=13))
    found = store.seeds.get(42, 1, EnvConfig(), "engine-1")
    assert found is not None and found.trees == 13


def test_each_world_environment_and_engine_has_its_own_description(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    small = EnvConfig(area=(32, 32))
    assert store.seeds.get(43, 1, EnvConfig(), "engine-1") is None
    assert store.seeds.get(42, 2, EnvConfig(), "engine-1") is None
    assert store.seeds.get(42, 1, small, "engine-1") is None
    assert store.seeds.get(42, 1, EnvConfig(), "engine-2") is None
    assert store.seeds.difficulties([(42, 1, small)], "engine-1") == {}
    assert store.seeds.difficulties([(42, 1, EnvConfig())], "engine-2") == {}


def test_difficulties_of_described_worlds_are_read_at_once(store: TraceStore):
    hard = replace(SEED_DESCRIPTION, seed=7, difficulty=Difficulty.HARD)
    for description in (SEED_DESCRIPTION, hard, replace(hard, world_episode=2, difficulty=Difficulty.CUSTOM)):
        store.seeds.save(description)
    worlds = [(42, 1, EnvConfig()), (7, 1, EnvConfig()), (7, 2, EnvConfig()), (8, 1, EnvConfig())]
    assert store.seeds.difficulties(worlds, "engine-1") == {
        worlds[0]: Difficulty.EASY,
        worlds[1]: Difficulty.HARD,
        worlds[2]: Difficulty.CUSTOM,
    }
