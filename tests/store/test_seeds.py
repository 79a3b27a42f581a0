"""Descriptions of seeds are kept once for each world, environment and engine."""

from __future__ import annotations

from dataclasses import replace

from core.store import TraceStore
from core.types import EnvConfig
from tests.support.records import SEED_DESCRIPTION


def test_a_description_comes_back_equal(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    assert store.seeds.get(42, 1, EnvConfig(), "engine-1") == SEED_DESCRIPTION


def test_other_worlds_environments_and_engines_have_their_own(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    assert store.seeds.get(43, 1, EnvConfig(), "engine-1") is None
    assert store.seeds.get(42, 2, EnvConfig(), "engine-1") is None
    assert store.seeds.get(42, 1, EnvConfig(area=(32, 32)), "engine-1") is None
    assert store.seeds.get(42, 1, EnvConfig(), "engine-2") is None


def test_a_new_description_takes_the_place_of_the_old_one(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    store.seeds.save(replace(SEED_DESCRIPTION, trees=13))
    found = store.seeds.get(42, 1, EnvConfig(), "engine-1")
    assert found is not None and found.trees == 13
