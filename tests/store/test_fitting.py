"""Reward facts are believed where they fit their episode; else they are made anew, or the episode is named."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event
from sqlalchemy.engine import make_url

from core.errors import StoreCorrupt
from core.facts import INVENTORY, UNLOCK, EpisodeFacts
from core.store import TraceStore, archive
from core.store.packs import pack, unpack
from core.store.tables import episode_packs
from tests.support.records import make_run, record_episode

ITS_KEY = "(SELECT id FROM episodes WHERE uuid = 'episode-1')"
NO_PACK = f"DELETE FROM episode_packs WHERE episode_id = {ITS_KEY}"


@pytest.fixture
def two(store: TraceStore) -> TraceStore:
    """A store with two episodes that are over."""
    store.create_run(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 25, seed=1)
    record_episode(store, "episode-2", 25, seed=2)
    return store


def change(store: TraceStore, statement: str) -> None:
    with store._database.writing() as connection:
        assert connection.exec_driver_sql(statement).rowcount >= 1


def stored_pack(store: TraceStore, episode_id: str = "episode-1") -> bytes | None:
    with store._database.reading() as connection:
        its_key = f"(SELECT id FROM episodes WHERE uuid = '{episode_id}')"
        blob = connection.exec_driver_sql(f"SELECT blob FROM episode_packs WHERE episode_id = {its_key}").scalar()
    return None if blob is None else bytes(blob)


def put_pack(store: TraceStore, blob: bytes) -> None:
    with store._database.writing() as connection:
        key = connection.exec_driver_sql(f"SELECT {ITS_KEY}").scalar_one()
        statement = episode_packs.update().where(episode_packs.c.episode_id == key)
        assert connection.execute(statement.values(blob=blob)).rowcount == 1


def with_one(values: Any, place: int, value: float) -> Any:
    """An array with another value in one place."""
    changed = values.copy()
    changed[place] = value
    return changed


def unlock(facts: EpisodeFacts) -> int:
    """The row of the first unlock."""
    return int(np.flatnonzero(facts.kinds == UNLOCK)[0])


def other(facts: EpisodeFacts) -> int:
    """The row of the first change that is no unlock."""
    return int(np.flatnonzero(facts.kinds == INVENTORY)[0])


ASTRAY: dict[str, Callable[[EpisodeFacts], EpisodeFacts]] = {
    "a change after the last decision": lambda f: replace(f, decisions=with_one(f.decisions, -1, 25)),
    "a change before the first decision": lambda f: replace(f, decisions=with_one(f.decisions, 0, -1)),
    "changes out of order": lambda f: replace(f, decisions=f.decisions[::-1].copy()),
    "a kind that nobody knows": lambda f: replace(f, kinds=with_one(f.kinds, 0, 3)),
    "a change without a name": lambda f: replace(f, names=with_one(f.names, 0, len(f.name_list))),
    "a name twice": lambda f: replace(f, name_list=(*f.name_list[:-1], f.name_list[0])),
    "an unlock that was not counted": lambda f: replace(f, ranks=with_one(f.ranks, unlock(f), 1)),
    "a rank where nothing was unlocked": lambda f: replace(f, ranks=with_one(f.ranks, other(f), 1)),
    "an unlock of two": lambda f: replace(f, deltas=with_one(f.deltas, unlock(f), 2)),
    "a reward that is none": lambda f: replace(f, rewards=with_one(f.rewards, 3, math.nan)),
    "a reward without end": lambda f: replace(f, env_rewards=with_one(f.env_rewards, 3, math.inf)),
    "another return": lambda f: replace(f, rewards=with_one(f.rewards, 3, f.rewards[3] + 0.001)),
    "another return of the environment": lambda f: replace(f, env_rewards=f.env_rewards * 1.001),
    "steps out of order": lambda f: replace(f, step_ends=with_one(f.step_ends, 3, 9999)),
    "more steps than it took": lambda f: replace(f, step_ends=with_one(f.step_ends, -1, 9999)),
    "a decision too few": lambda f: replace(
        f, n_decisions=24, env_rewards=f.env_rewards[:-1], rewards=f.rewards[:-1], step_ends=f.step_ends[:-1]
    ),
    "another end": lambda f: replace(f, foreseen_end=not f.foreseen_end),
    "a part that paid in no decision": lambda f: replace(
        f, components=(f.components[0]._replace(decisions=0), *f.components[1:])
    ),
    "a part that paid no number": lambda f: replace(
        f, components=(f.components[0]._replace(value=1e999), *f.components[1:])
    ),
}


@pytest.mark.parametrize("astray", ASTRAY.values(), ids=ASTRAY.keys())
def test_facts_that_are_not_those_of_the_episode_are_made_anew_and_kept(
    two: TraceStore, astray: Callable[[EpisodeFacts], EpisodeFacts]
):
    whole = stored_pack(two)
    assert whole is not None
    facts = unpack(whole, "The facts")
    assert facts is not None
    wrong = pack(astray(facts))
    assert wrong != whole
    put_pack(two, wrong)
    assert pack(two.reward_facts("episode-1")) == whole
    assert stored_pack(two) == wrong, "looking at one episode writes nothing"
    part = two.archive_part(["episode-1", "episode-2"])
    assert part.unreadable == ()
    assert pack(part.facts[0]) == whole
    assert stored_pack(two) == whole


def test_the_facts_of_another_episode_are_not_taken_for_its_own(two: TraceStore):
    whole, others = stored_pack(two), stored_pack(two, "episode-2")
    assert whole is not None and others is not None
    put_pack(two, others)
    assert [pack(facts) for facts in two.archive_part(["episode-1", "episode-2"]).facts] == [whole, others]


def test_facts_that_fit_are_believed_as_they_are(two: TraceStore):
    """Or every look at the archive would read all decisions."""
    change(two, "DELETE FROM decision_payloads WHERE decision_id IN (SELECT id FROM decisions)")
    part = two.archive_part(["episode-1", "episode-2"])
    assert (len(part.facts), part.unreadable) == (2, ())


# ------------------------------------------------------------------------------------- decisions that do not fit

OF_DECISION_7 = f"(SELECT id FROM decisions WHERE episode_id = {ITS_KEY} AND idx = 7)"
WITH_PARTS = (
    f"(SELECT min(decision_id) FROM reward_components WHERE decision_id IN "
    f"(SELECT id FROM decisions WHERE episode_id = {ITS_KEY}))"
)
DAMAGE = {
    "a decision is missing": f"DELETE FROM decisions WHERE id = {OF_DECISION_7}",
    "the last decision is missing": f"DELETE FROM decisions WHERE episode_id = {ITS_KEY} AND idx = 24",
    "the first decision is missing": f"DELETE FROM decisions WHERE episode_id = {ITS_KEY} AND idx = 0",
    "a decision stands elsewhere": f"UPDATE decisions SET idx = 70 WHERE id = {OF_DECISION_7}",
    "a decision's steps stand elsewhere": f"UPDATE decisions SET step_end = step_end + 1 WHERE id = {OF_DECISION_7}",
    "a decision has no content": f"DELETE FROM decision_payloads WHERE decision_id = {OF_DECISION_7}",
    "a decision's content is cut off": "UPDATE decision_payloads SET blob = substr(blob, 1, 20) "
    f"WHERE decision_id = {OF_DECISION_7}",
    "the start is cut off": f"UPDATE episode_starts SET blob = substr(blob, 1, 20) WHERE episode_id = {ITS_KEY}",
}
# What an episode's own ledger is there to show; sums over many episodes would be wrong with it.
OTHER_BOOKS = {
    "a decision earned something else": f"UPDATE decisions SET reward = reward + 1 WHERE id = {OF_DECISION_7}",
    "the world paid something else": f"UPDATE decisions SET env_reward = env_reward + 1 WHERE id = {OF_DECISION_7}",
    "a part of a reward is missing": f"DELETE FROM reward_components WHERE decision_id = {WITH_PARTS} AND k = 0",
    "a part of a reward is another": f"UPDATE reward_components SET value = value + 1 "
    f"WHERE decision_id = {WITH_PARTS} AND k = 0",
}


@pytest.mark.parametrize("statement", [*DAMAGE.values(), *OTHER_BOOKS.values()], ids=[*DAMAGE, *OTHER_BOOKS])
def test_decisions_that_do_not_fit_are_said_and_the_other_episode_is_there(two: TraceStore, statement: str):
    change(two, NO_PACK)
    change(two, statement)
    part = two.archive_part(["episode-1", "episode-2"])
    assert [played.id for played in part.episodes] == ["episode-2"]
    ((name, problem),) = [(entry.id, entry.problem) for entry in part.unreadable]
    assert name == "episode-1" and "episode-1" in problem and problem.isprintable()
    assert stored_pack(two) is None
    with pytest.raises(StoreCorrupt, match="episode-1"):
        two.reward_facts("episode-1")


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_the_whole_episode_says_that_something_of_it_is_missing_or_moved(two: TraceStore, statement: str):
    change(two, statement)
    with pytest.raises(StoreCorrupt, match="episode-1"):
        two.load_episode("episode-1")
    assert len(two.load_episode("episode-2").decisions) == 25


@pytest.mark.parametrize("statement", OTHER_BOOKS.values(), ids=OTHER_BOOKS.keys())
def test_an_episode_whose_books_do_not_agree_is_loaded_whole(two: TraceStore, statement: str):
    change(two, statement)
    assert len(two.load_episode("episode-1").decisions) == 25


def test_a_missing_decision_is_said_by_its_number(two: TraceStore):
    change(two, "UPDATE episodes SET n_decisions = 24 WHERE uuid = 'episode-1'")
    change(two, DAMAGE["a decision is missing"])
    with pytest.raises(StoreCorrupt, match="its decision 7 is missing"):
        two.load_episode("episode-1")


@pytest.mark.parametrize("column", ["n_steps", "n_decisions", "env_return", "shaped_return"])
def test_an_episode_that_says_something_else_than_its_decisions_is_named(two: TraceStore, column: str):
    change(two, f"UPDATE episodes SET {column} = {column} + 1 WHERE uuid = 'episode-1'")
    part = two.archive_part(["episode-1", "episode-2"])
    assert [played.id for played in part.episodes] == ["episode-2"]
    assert [entry.id for entry in part.unreadable] == ["episode-1"]
    assert stored_pack(two) is not None, "what was there stays"


# ------------------------------------------------------------------------------------- keeping what was made anew


def made_anew(store: TraceStore) -> dict[str, archive.MadePack]:
    """What a look at the archive would keep."""
    with store._database.reading() as connection:
        return archive.part(connection, ["episode-1"])[1]


def keep(store: TraceStore, made: dict[str, archive.MadePack]) -> None:
    with store._database.writing() as connection:
        archive.save_packs(connection, made)


def test_a_pack_is_kept_only_where_nothing_was_and_nothing_came(two: TraceStore):
    whole = stored_pack(two)
    assert whole is not None
    change(two, NO_PACK)
    made = made_anew(two)
    assert list(made) == ["episode-1"]
    keep(two, made)
    assert stored_pack(two) == whole
    put_pack(two, b"by somebody else")
    keep(two, made)
    assert stored_pack(two) == b"by somebody else"


def test_a_pack_takes_the_place_of_the_one_that_was_seen_and_of_no_other(two: TraceStore):
    whole = stored_pack(two)
    put_pack(two, b"damaged")
    made = made_anew(two)
    put_pack(two, b"by somebody else")
    keep(two, made)
    assert stored_pack(two) == b"by somebody else"
    put_pack(two, b"damaged")
    keep(two, made)
    assert stored_pack(two) == whole


def test_the_pack_of_a_deleted_episode_is_not_given_to_the_one_that_got_its_key(store: TraceStore):
    store.create_run(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 5)
    change(store, NO_PACK)
    made = made_anew(store)
    store.delete_episodes(["episode-1"])
    store.create_run(make_run("run-2", ["episode-2"]))
    record_episode(store, "episode-2", 9, seed=2)
    its_own = stored_pack(store, "episode-2")
    keep(store, made)
    assert stored_pack(store, "episode-2") == its_own
    change(store, "DELETE FROM episode_packs")
    keep(store, made)
    assert stored_pack(store, "episode-2") is None


def test_a_locked_database_keeps_nobody_from_reading(two: TraceStore, database_url: str):
    whole = stored_pack(two)
    change(two, NO_PACK)
    with TraceStore(database_url) as holder, holder._database.writing() as connection:
        if not two.backend.startswith("SQLite"):
            connection.exec_driver_sql("LOCK TABLE episode_packs IN SHARE MODE")
        began = time.monotonic()
        part = two.archive_part(["episode-1", "episode-2"])
        assert 0.4 < time.monotonic() - began < 5
        assert (len(part.facts), part.unreadable) == (2, ())
    assert stored_pack(two) is None
    two.archive_part(["episode-1"])
    assert stored_pack(two) == whole


def test_a_locked_database_is_waited_for_once_however_many_episodes_there_are(
    sqlite_store: TraceStore, monkeypatch: pytest.MonkeyPatch
):
    store = sqlite_store
    names = [f"episode-{number}" for number in range(4)]
    store.create_run(make_run("run-1", names))
    for name in names:
        record_episode(store, name, 2)
    change(store, "DELETE FROM episode_packs")
    monkeypatch.setattr("core.store.store.in_parts", lambda ids: [[name] for name in ids])
    with TraceStore(store.url) as holder, holder._database.writing():
        began = time.monotonic()
        assert len(store.archive_part(names).facts) == 4
        assert time.monotonic() - began < 1.5


def test_who_waited_a_short_time_for_packs_waits_a_long_time_for_the_rest(sqlite_store: TraceStore):
    with sqlite_store._database.writing_soon(321) as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 321
    with sqlite_store._database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 30_000


def test_a_file_that_can_only_be_read_is_read(sqlite_store: TraceStore):
    sqlite_store.create_run(make_run("run-1", ["episode-1"]))
    record_episode(sqlite_store, "episode-1", 5)
    change(sqlite_store, NO_PACK)

    def read_only(connection: Any, *_: Any) -> None:
        connection.execute("PRAGMA query_only = ON").close()

    event.listen(sqlite_store._database.engine, "checkout", read_only)
    assert len(sqlite_store.archive_part(["episode-1"]).facts) == 1
    assert stored_pack(sqlite_store) is None


def test_who_may_only_read_on_a_server_reads(postgres_url: str):
    with TraceStore(postgres_url) as store:
        store.create_run(make_run("run-1", ["episode-1"]))
        record_episode(store, "episode-1", 5)
        change(store, NO_PACK)
        with store._database.writing() as connection:
            schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
            connection.exec_driver_sql("CREATE ROLE reader LOGIN PASSWORD 'reader'")
            connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {schema} TO reader")
            connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
        url = make_url(postgres_url).set(username="reader", password="reader")
        with TraceStore(url.render_as_string(hide_password=False)) as reader:
            assert len(reader.archive_part(["episode-1"]).facts) == 1
        assert stored_pack(store) is None
        with store._database.writing() as connection:
            connection.exec_driver_sql("DROP OWNED BY reader")
            connection.exec_driver_sql("DROP ROLE reader")
