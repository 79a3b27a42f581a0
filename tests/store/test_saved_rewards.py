"""Configurations are saved under names, and what episodes would have earned stands beside what they earned."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from core.errors import InvalidInput
from core.rewards import checked
from core.store import TraceStore, runs
from core.types import RewardConfig
from tests.support.records import make_run, record_episode

DRY = checked(RewardConfig("per_achievement", inventory_weights={"drink": 0.0}))
WET = checked(RewardConfig("per_achievement", inventory_weights={"drink": 1.0}))


def two_episodes(store: TraceStore) -> None:
    store.create_run(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1")
    record_episode(store, "episode-2")


def test_a_saved_configuration_comes_back_whole(store: TraceStore):
    store.save_reward(" no drinking ", DRY)
    store.save_reward("a wet one", WET)
    assert [(saved.name, saved.config, saved.n_scored) for saved in store.saved_rewards()] == [
        ("a wet one", WET, 0),
        ("no drinking", DRY, 0),
    ]


def test_a_name_is_not_given_to_another_configuration(store: TraceStore):
    store.save_reward("mine", DRY)
    store.save_reward("mine", DRY)  # the same again is no harm
    with pytest.raises(InvalidInput, match='saved as "mine" and is not overwritten'):
        store.save_reward("mine", WET)
    assert [saved.config for saved in store.saved_rewards()] == [DRY]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "two\nlines", "\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(store: TraceStore, name: str):
    with pytest.raises(InvalidInput, match="1 to 80 characters"):
        store.save_reward(name, DRY)


def test_scorings_stand_beside_what_was_earned(store: TraceStore):
    two_episodes(store)
    earned = [store.episode(name).shaped_return for name in ("episode-1", "episode-2")]
    store.save_reward("dry", DRY)
    assert store.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5, "gone": 9.0}) == 2
    assert store.save_scorings(DRY, {"episode-1": 99.0}) == 0, "what is kept stays as it is"
    assert store.scorings(DRY.config_hash) == {"episode-1": 1.5, "episode-2": 2.5}
    assert store.scorings(WET.config_hash) == {}
    assert [saved.n_scored for saved in store.saved_rewards()] == [2]
    assert [store.episode(name).shaped_return for name in ("episode-1", "episode-2")] == earned


def test_scorings_go_with_their_episode_and_with_the_last_name_of_their_configuration(store: TraceStore):
    two_episodes(store)
    store.save_reward("dry", DRY)
    store.save_reward("dry too", DRY)
    store.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5})
    store.delete_episodes(["episode-1"])
    assert store.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.forget_reward("dry")
    assert store.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.forget_reward("dry too")
    assert store.scorings(DRY.config_hash) == {}
    assert store.saved_rewards() == ()
    store.forget_reward("never heard of")


# ------------------------------------------------------------------------------------- names and numbers


def test_the_name_is_given_back_as_it_is_stored(store: TraceStore):
    assert store.save_reward("  no drinking\n", DRY) == "no drinking"
    assert store.save_reward("no drinking", DRY) == "no drinking"
    assert [saved.name for saved in store.saved_rewards()] == ["no drinking"]


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
        store.save_reward(f"dry{character}one", DRY)
    assert store.saved_rewards() == ()


def test_a_name_in_any_script_is_a_name(store: TraceStore):
    for name in ("trocken – ohne Wasser", "干燥", "ohne 💧", "जल", "e\u0301t\u00e9"):
        assert store.save_reward(name, DRY) == name


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", True, 10**400])
def test_a_return_that_is_no_finite_number_is_refused_with_its_episode(store: TraceStore, value: Any):
    two_episodes(store)
    with pytest.raises(InvalidInput, match="The return of episode 'episode-2' is .*give a finite number"):
        store.save_scorings(DRY, {"episode-1": 1.0, "episode-2": value})
    assert store.scorings(DRY.config_hash) == {}


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_configuration_that_could_not_be_read_again_is_not_saved(store: TraceStore, value: Any):
    broken = RewardConfig("per_achievement", weights={"collect_wood": value})
    with pytest.raises(InvalidInput, match="cannot be kept"):
        store.save_reward("broken", broken)
    with pytest.raises(InvalidInput, match="cannot be kept"):
        store.save_scorings(broken, {})
    assert (store.saved_rewards(), store.unreadable_rewards()) == ((), ())


def test_what_is_asked_for_with_a_wrong_type_is_said(store: TraceStore):
    for ask in (lambda: store.save_reward(cast(Any, 5), DRY), lambda: store.forget_reward(cast(Any, None))):
        with pytest.raises(InvalidInput, match="The name of a configuration is .*give a text"):
            ask()


# ------------------------------------------------------------------------------------- damage


def changed(store: TraceStore, statement: str) -> None:
    with store._database.writing() as connection:
        assert connection.exec_driver_sql(statement).rowcount == 1


def test_a_damaged_configuration_is_named_and_the_others_are_there(store: TraceStore):
    store.save_reward("dry", DRY)
    store.save_reward("wet", WET)
    changed(store, f"UPDATE reward_configs SET config = 'not json' WHERE hash = '{DRY.config_hash}'")
    assert [saved.name for saved in store.saved_rewards()] == ["wet"]
    (damage,) = store.unreadable_rewards()
    assert damage.name == "dry"
    assert damage.problem.startswith("The saved configuration 'dry' is stored but cannot be read")


SQLITE_DAMAGE = {
    "a moment that is none": "UPDATE saved_rewards SET saved_at = 'soon' WHERE name = 'dry'",
    "a moment after all years": "UPDATE saved_rewards SET saved_at = 9e18 WHERE name = 'dry'",
    "a configuration that is a number": "UPDATE reward_configs SET config = 7 WHERE hash = "
    "(SELECT config_hash FROM saved_rewards WHERE name = 'dry')",
    "a weight that is nothing": "UPDATE reward_configs SET config = replace(config, '2.5', 'null') WHERE hash = "
    "(SELECT config_hash FROM saved_rewards WHERE name = 'dry')",
}


@pytest.mark.parametrize("statement", SQLITE_DAMAGE.values(), ids=SQLITE_DAMAGE.keys())
def test_whatever_is_damaged_of_one_takes_no_other_along(sqlite_store: TraceStore, statement: str):
    heavy = checked(RewardConfig("per_achievement", weights={"collect_wood": 2.5}))
    sqlite_store.save_reward("dry", heavy)
    sqlite_store.save_reward("wet", WET)
    changed(sqlite_store, statement)
    assert [saved.name for saved in sqlite_store.saved_rewards()] == ["wet"]
    assert [damage.name for damage in sqlite_store.unreadable_rewards()] == ["dry"]
    sqlite_store.forget_reward("dry")
    assert sqlite_store.unreadable_rewards() == ()
    assert [saved.name for saved in sqlite_store.saved_rewards()] == ["wet"]


def test_a_name_that_is_no_text_is_written_out_and_can_be_forgotten_so(sqlite_store: TraceStore):
    sqlite_store.save_reward("dry", DRY)
    sqlite_store.save_reward("wet", WET)
    changed(sqlite_store, "UPDATE saved_rewards SET name = CAST(x'ff41' AS TEXT) WHERE name = 'dry'")
    (damage,) = sqlite_store.unreadable_rewards()
    assert (damage.name, damage.problem.isprintable()) == (r"\xffA", True)
    sqlite_store.forget_reward(damage.name)
    assert sqlite_store.unreadable_rewards() == ()
    assert [saved.name for saved in sqlite_store.saved_rewards()] == ["wet"]


def test_forgetting_asks_for_the_whole_name_and_not_for_what_the_database_would_make_of_it(store: TraceStore):
    store.save_reward("dry\ufffd", DRY)
    store.forget_reward("dry\0")
    store.forget_reward(" dry\ufffd ")
    assert [saved.name for saved in store.saved_rewards()] == ["dry\ufffd"]


def hashes(store: TraceStore) -> set[str]:
    with store._database.reading() as connection:
        return set(connection.exec_driver_sql("SELECT hash FROM reward_configs").scalars())


def test_a_configuration_that_nothing_refers_to_goes_with_its_last_name(store: TraceStore):
    store.create_run(make_run("run-1", ["episode-1"], reward=DRY))
    record_episode(store, "episode-1")
    store.create_run(make_run("run-2", ["episode-2"], reward=WET))  # it waits
    other = checked(RewardConfig("per_achievement", weights={"eat_cow": 4.0}))
    for name, config in (("dry", DRY), ("wet", WET), ("other", other), ("other too", other)):
        store.save_reward(name, config)
    store.forget_reward("dry")
    store.forget_reward("wet")
    store.forget_reward("other")
    assert hashes(store) == {DRY.config_hash, WET.config_hash, other.config_hash}
    store.forget_reward("other too")
    assert hashes(store) == {DRY.config_hash, WET.config_hash}
    assert store.episode("episode-1").spec.reward == DRY
    claimed = store.claim_next(worker="test")
    assert claimed is not None and claimed[1].spec.reward == WET


def test_a_configuration_that_only_a_scoring_refers_to_stays(store: TraceStore):
    two_episodes(store)
    store.save_scorings(WET, {"episode-1": 1.0})
    store.save_reward("dry", DRY)
    store.forget_reward("dry")
    assert store.scorings(WET.config_hash) == {"episode-1": 1.0}
    assert DRY.config_hash not in hashes(store)


def test_who_launches_with_a_configuration_while_it_is_forgotten_still_has_it(postgres_url: str):
    """The launch finds it stored; it must not go before its episodes are there."""
    with TraceStore(postgres_url) as store, ThreadPoolExecutor() as threads:
        store.save_reward("dry", DRY)
        with store._database.writing() as launching:
            runs.insert_run(launching, make_run("run-1", ["episode-1"], reward=DRY))
            forgetting = threads.submit(store.forget_reward, "dry")
            with pytest.raises(TimeoutError):
                forgetting.result(timeout=0.5)
        forgetting.result(timeout=20)
        assert store.episode("episode-1").spec.reward == DRY


def test_a_damaged_scoring_is_named_and_the_others_are_there(sqlite_store: TraceStore):
    two_episodes(sqlite_store)
    sqlite_store.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5})
    for garbage in ("'no such thing'", "9e999", "x'00'"):
        changed(sqlite_store, f"UPDATE scorings SET shaped_return = {garbage} WHERE shaped_return != 2.5")
        assert sqlite_store.scorings(DRY.config_hash) == {"episode-2": 2.5}
        (damage,) = sqlite_store.unreadable_scorings(DRY.config_hash)
        assert damage.id == "episode-1" and "would have earned" in damage.problem
