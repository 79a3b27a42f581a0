"""When episodes unlocked what, and how hard their worlds are: read for many at once."""

from __future__ import annotations

from dataclasses import replace

from core.store import TraceStore
from core.types import Difficulty, EnvConfig
from tests.support.records import SEED_DESCRIPTION, make_run, record_episode


def test_each_unlock_has_the_step_that_the_whole_episode_says(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 30)
    record_episode(store, "b-episode", 12, seed=2)
    found = store.episodes.unlock_steps(["b-episode", "a-episode"])
    assert found == {name: store.episodes.load(name).unlock_steps for name in ("a-episode", "b-episode")}
    assert found["a-episode"]
    assert list(found["a-episode"].values()) == sorted(found["a-episode"].values())


def test_an_episode_without_unlocks_is_empty_and_an_unknown_one_is_left_out(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert store.episodes.unlock_steps(["a-episode", "nobody"]) == {"a-episode": {}}
    assert store.episodes.unlock_steps([]) == {}


def test_a_beginning_of_an_id_is_not_enough(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert store.episodes.unlock_steps(["a-epis"]) == {}


def test_more_episodes_than_a_query_may_name_are_asked_for_in_parts(sqlite_store: TraceStore):
    names = [f"episode-{number}" for number in range(1_203)]
    sqlite_store.runs.create(make_run("run-1", names))
    assert sqlite_store.episodes.unlock_steps(names).keys() == set(names)


def test_the_difficulty_of_worlds_that_are_described_is_known(store: TraceStore):
    hard = replace(SEED_DESCRIPTION, seed=7, difficulty=Difficulty.HARD)
    for description in (SEED_DESCRIPTION, hard, replace(hard, world_episode=2, difficulty=Difficulty.CUSTOM)):
        store.seeds.save(description)
    worlds = [(42, 1, EnvConfig()), (7, 1, EnvConfig()), (7, 2, EnvConfig()), (8, 1, EnvConfig())]
    assert store.seeds.difficulties(worlds, "engine-1") == {
        worlds[0]: Difficulty.EASY,
        worlds[1]: Difficulty.HARD,
        worlds[2]: Difficulty.CUSTOM,
    }


def test_another_environment_or_engine_has_not_described_them(store: TraceStore):
    store.seeds.save(SEED_DESCRIPTION)
    assert store.seeds.difficulties([(42, 1, EnvConfig(area=(32, 32)))], "engine-1") == {}
    assert store.seeds.difficulties([(42, 1, EnvConfig())], "engine-2") == {}
    assert store.seeds.difficulties([], "engine-1") == {}
