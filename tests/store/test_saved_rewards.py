"""Configurations are saved under names, and what episodes would have earned stands beside what they earned."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import insert

from core.errors import InvalidInput
from core.rewards import checked
from core.store import Listing, TraceStore, runs
from core.store.rows import episode_row, save_reward_configs
from core.store.tables import episodes
from core.types import EpisodeStatus, RewardConfig
from tests.support.records import make_run, record_episode

DRY = checked(RewardConfig("per_achievement", inventory_weights={"drink": 0.0}))
WET = checked(RewardConfig("per_achievement", inventory_weights={"drink": 1.0}))


def two_episodes(store: TraceStore) -> None:
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1")
    record_episode(store, "episode-2")


def test_a_saved_configuration_comes_back_whole(store: TraceStore):
    store.rewards.save(" no drinking ", DRY)
    store.rewards.save("a wet one", WET)
    assert [(saved.name, saved.config, saved.n_scored) for saved in store.rewards.saved().rows] == [
        ("a wet one", WET, 0),
        ("no drinking", DRY, 0),
    ]


def test_a_name_is_not_given_to_another_configuration(store: TraceStore):
    store.rewards.save("mine", DRY)
    store.rewards.save("mine", DRY)  # the same again is no harm
    with pytest.raises(InvalidInput, match='saved as "mine" and is not overwritten'):
        store.rewards.save("mine", WET)
    assert [saved.config for saved in store.rewards.saved().rows] == [DRY]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "two\nlines", "\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(store: TraceStore, name: str):
    with pytest.raises(InvalidInput, match="1 to 80 characters"):
        store.rewards.save(name, DRY)


def test_scorings_stand_beside_what_was_earned(store: TraceStore):
    two_episodes(store)
    earned = [store.episodes.get(name).shaped_return for name in ("episode-1", "episode-2")]
    store.rewards.save("dry", DRY)
    assert store.rewards.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5, "gone": 9.0}) == 2
    assert store.rewards.save_scorings(DRY, {"episode-1": 99.0}) == 0, "what is kept stays as it is"
    assert store.rewards.scorings(DRY.config_hash) == {"episode-1": 1.5, "episode-2": 2.5}
    assert store.rewards.scorings(WET.config_hash) == {}
    assert [saved.n_scored for saved in store.rewards.saved().rows] == [2]
    assert [store.episodes.get(name).shaped_return for name in ("episode-1", "episode-2")] == earned


def test_scorings_go_with_their_episode_and_with_the_last_name_of_their_configuration(store: TraceStore):
    two_episodes(store)
    store.rewards.save("dry", DRY)
    store.rewards.save("dry too", DRY)
    store.rewards.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5})
    store.episodes.delete(["episode-1"])
    assert store.rewards.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.rewards.forget("dry")
    assert store.rewards.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.rewards.forget("dry too")
    assert store.rewards.scorings(DRY.config_hash) == {}
    assert store.rewards.saved().rows == ()
    store.rewards.forget("never heard of")


# ------------------------------------------------------------------------------------- names and numbers


def test_the_name_is_given_back_as_it_is_stored(store: TraceStore):
    assert store.rewards.save("  no drinking\n", DRY) == "no drinking"
    assert store.rewards.save("no drinking", DRY) == "no drinking"
    assert [saved.name for saved in store.rewards.saved().rows] == ["no drinking"]


@pytest.mark.parametrize(
    ("character", "called"),
    [
        ("\u200d", "U+200D ZERO WIDTH JOINER"),
        ("\u200c", "U+200C ZERO WIDTH NON-JOINER"),
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u3164", "U+3164 HANGUL FILLER"),
        ("\u00a0", "U+00A0 NO-BREAK SPACE"),
        ("\0", "U+0000 CONTROL CHARACTER"),
        ("\ud83d", "U+D83D HALF A PAIR"),
    ],
)
def test_a_character_that_cannot_be_seen_is_named_and_nothing_is_saved(store: TraceStore, character: str, called: str):
    with pytest.raises(InvalidInput, match=re.escape(called)):
        store.rewards.save(f"dry{character}one", DRY)
    assert store.rewards.saved().rows == ()


def test_a_name_in_any_script_is_a_name(store: TraceStore):
    for name in ("trocken – ohne Wasser", "干燥", "ohne 💧", "जल", "e\u0301t\u00e9"):
        assert store.rewards.save(name, DRY) == name


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_return_that_is_no_finite_number_is_refused_with_its_episode(store: TraceStore, value: Any):
    two_episodes(store)
    with pytest.raises(InvalidInput, match="The return of episode 'episode-2' is .*give a finite number"):
        store.rewards.save_scorings(DRY, {"episode-1": 1.0, "episode-2": value})
    assert store.rewards.scorings(DRY.config_hash) == {}


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_configuration_that_could_not_be_read_again_is_not_saved(store: TraceStore, value: Any):
    broken = RewardConfig("per_achievement", weights={"collect_wood": value})
    with pytest.raises(InvalidInput, match="cannot be stored"):
        store.rewards.save("broken", broken)
    with pytest.raises(InvalidInput, match="cannot be stored"):
        store.rewards.save_scorings(broken, {})
    assert store.rewards.saved() == Listing(())


def changed(store: TraceStore, statement: str) -> None:
    with store._database.writing() as connection:
        assert connection.exec_driver_sql(statement).rowcount == 1


def test_a_corrupt_configuration_is_named_beside_the_others_and_can_be_deleted(store: TraceStore):
    store.rewards.save("dry", DRY)
    store.rewards.save("wet", WET)
    changed(store, f"UPDATE reward_configs SET config = 'not json' WHERE hash = '{DRY.config_hash}'")
    found = store.rewards.saved()
    assert [saved.name for saved in found.rows] == ["wet"]
    (corrupt,) = found.unreadable
    assert corrupt.id == "dry"
    assert corrupt.problem.startswith("The saved configuration dry is stored but cannot be read")
    store.rewards.forget("dry")
    assert store.rewards.saved().unreadable == ()


def hashes(store: TraceStore) -> set[str]:
    with store._database.reading() as connection:
        return set(connection.exec_driver_sql("SELECT hash FROM reward_configs").scalars())


def test_a_configuration_that_nothing_refers_to_goes_with_its_last_name(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"], reward=DRY))
    record_episode(store, "episode-1")
    store.runs.create(make_run("run-2", ["episode-2"], reward=WET))  # it waits
    other = checked(RewardConfig("per_achievement", weights={"eat_cow": 4.0}))
    for name, config in (("dry", DRY), ("wet", WET), ("other", other), ("other too", other)):
        store.rewards.save(name, config)
    store.rewards.forget("dry")
    store.rewards.forget("wet")
    store.rewards.forget("other")
    assert hashes(store) == {DRY.config_hash, WET.config_hash, other.config_hash}
    store.rewards.forget("other too")
    assert hashes(store) == {DRY.config_hash, WET.config_hash}
    assert store.episodes.get("episode-1").spec.reward == DRY
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None and claimed[1].spec.reward == WET


def test_a_configuration_that_only_a_scoring_refers_to_stays(store: TraceStore):
    two_episodes(store)
    store.rewards.save_scorings(WET, {"episode-1": 1.0})
    store.rewards.save("dry", DRY)
    store.rewards.forget("dry")
    assert store.rewards.scorings(WET.config_hash) == {"episode-1": 1.0}
    assert DRY.config_hash not in hashes(store)


def test_who_launches_with_a_configuration_while_it_is_forgotten_still_has_it(postgres_url: str):
    """The launch finds it stored; it must not go before its episodes are there."""
    with TraceStore(postgres_url) as store, ThreadPoolExecutor() as threads:
        store.rewards.save("dry", DRY)
        run = make_run("run-1", ["episode-1"], reward=DRY)
        with store._database.writing() as launching:
            key = runs._insert_run(launching, run)
            save_reward_configs(launching, [DRY])
            rows = [episode_row(key, episode, run.created_at, EpisodeStatus.QUEUED) for episode in run.episodes]
            launching.execute(insert(episodes), rows)
            forgetting = threads.submit(store.rewards.forget, "dry")
            with pytest.raises(TimeoutError):
                forgetting.result(timeout=0.5)
        forgetting.result(timeout=20)
        assert store.episodes.get("episode-1").spec.reward == DRY
