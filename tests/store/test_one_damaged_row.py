"""One row that is damaged is named, and takes none of the others along: in lists, of runs, with unlocks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.store import EpisodeFilter, EpisodePage, TraceStore
from core.store.database import sqlite_driver
from tests.support.records import make_run, record_episode

NOT_UTF8 = "CAST(x'ff41' AS TEXT)"
IDS = [f"episode-{number}" for number in range(5)]
DAMAGED = "episode-2"
HERE = f"WHERE uuid = '{DAMAGED}'"

DAMAGE = {
    "a status that nobody knows": f"UPDATE episodes SET status = 'dreaming' {HERE}",
    "a status that is no text": f"UPDATE episodes SET status = {NOT_UTF8} {HERE}",
    "a policy that is no text": f"UPDATE episodes SET policy = {NOT_UTF8} {HERE}",
    "a moment that is none": f"UPDATE episodes SET created_at = 'soon' {HERE}",
    "a moment after all years": f"UPDATE episodes SET created_at = 9e999 {HERE}",
    "a moment before all years": f"UPDATE episodes SET created_at = -9223372036854775808 {HERE}",
    "an end that is none": f"UPDATE episodes SET ended_at = x'00' {HERE}",
    "a count that is none": f"UPDATE episodes SET n_steps = 'many' {HERE}",
    "a specification that is cut off": f"UPDATE episodes SET spec = substr(spec, 1, 20) {HERE}",
    "a specification of a newer version": f"UPDATE episodes SET spec = replace(spec, '\"v\":1', '\"v\":9') {HERE}",
    "an error that is none": f"UPDATE episodes SET error = '{{' {HERE}",
    "no run": f"UPDATE episodes SET run_id = 999 {HERE}",
    "no reward configuration": f"UPDATE episodes SET config_hash = 'gone' {HERE}",
    "an unlock whose name is no text": "UPDATE OR REPLACE episode_achievements SET name = "
    f"{NOT_UTF8} WHERE episode_id = (SELECT id FROM episodes {HERE})",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with five episodes that are over. Nothing has it open."""
    file = tmp_path / "traces.db"
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("run-1", IDS))
        for number, name in enumerate(IDS):
            record_episode(store, name, 20, seed=number)
    return file


def change(file: Path, statement: str) -> None:
    """By another program, to which no rule of the schema is holy."""
    with closing(sqlite_driver().connect(str(file), isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount >= 1


def pages(store: TraceStore, limit: int) -> list[EpisodePage]:
    """All pages of the list."""
    found = [store.episodes(limit=limit)]
    while (cursor := found[-1].next_cursor) is not None:
        found.append(store.episodes(cursor=cursor, limit=limit))
        assert len(found) <= 2 * len(IDS), "it never ends"
    return found


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_list_shows_the_others_and_names_the_one(file: Path, statement: str):
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        page = store.episodes()
        assert {row.id for row in page.rows} == set(IDS) - {DAMAGED}
        ((name, problem),) = [(entry.id, entry.problem) for entry in page.unreadable]
        assert name == DAMAGED
        assert DAMAGED in problem and problem.isprintable() and len(problem) < 700
        assert [row.id for row in page.rows] == [name for name in reversed(IDS) if name != DAMAGED]


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_every_episode_is_on_one_page_also_where_one_is_damaged(file: Path, statement: str, limit: int):
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        found = pages(store, limit)
    assert [row.id for page in found for row in page.rows] == [name for name in reversed(IDS) if name != DAMAGED]
    assert [entry.id for page in found for entry in page.unreadable] == [DAMAGED]


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_an_episode_that_is_damaged_says_so_itself(file: Path, statement: str):
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        with pytest.raises((StoreCorrupt, StoreTooNew), match=DAMAGED):
            store.episode(DAMAGED)
        assert store.episode("episode-1").n_decisions == 20


def test_the_episodes_of_a_run_are_those_that_can_be_read_and_the_others_are_named(file: Path):
    change(file, DAMAGE["a policy that is no text"])
    with TraceStore(f"sqlite:///{file}") as store:
        assert [row.id for row in store.run_episodes("run-1")] == [name for name in IDS if name != DAMAGED]
        assert [entry.id for entry in store.unreadable_episodes("run-1")] == [DAMAGED]


def test_several_are_named_each_for_itself(file: Path):
    change(file, f"UPDATE episodes SET policy = {NOT_UTF8} WHERE uuid IN ('episode-0', 'episode-1', 'episode-4')")
    with TraceStore(f"sqlite:///{file}") as store:
        page = store.episodes()
        assert [row.id for row in page.rows] == ["episode-3", "episode-2"]
        assert {entry.id for entry in page.unreadable} == {"episode-0", "episode-1", "episode-4"}


def test_an_id_that_is_no_text_is_written_out(file: Path):
    change(file, f"UPDATE episodes SET uuid = {NOT_UTF8} {HERE}")
    with TraceStore(f"sqlite:///{file}") as store:
        page = store.episodes()
        assert len(page.rows) == 4
        assert [entry.id for entry in page.unreadable] == [r"\xffA"]
        part = store.archive_part(store.played_ids())
        assert [played.id for played in part.episodes] == [name for name in IDS if name != DAMAGED]
        assert [entry.id for entry in part.unreadable] == [r"\xffA"]
        assert store.delete_episodes([r"\xffA", "never-there"]) == 1
        assert (len(store.episodes().rows), store.episodes().unreadable) == (4, ())


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_an_episode_that_is_damaged_can_be_deleted(file: Path, statement: str):
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.delete_episodes([entry.id for entry in store.episodes().unreadable]) == 1
        assert store.episodes().unreadable == ()
        assert {row.id for row in store.episodes().rows} == set(IDS) - {DAMAGED}


def test_the_policies_can_be_listed_also_where_one_is_no_text(file: Path):
    change(file, DAMAGE["a policy that is no text"])
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.policies() == (r"\xffA", "random")


def test_nothing_is_unreadable_where_nothing_is_damaged(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.episodes().unreadable == store.unreadable_episodes("run-1") == store.unreadable_unlocks(IDS) == ()
        assert len(store.episodes(EpisodeFilter(seeds=(2,))).rows) == 1


# ------------------------------------------------------------------------------------- unlocks

UNLOCK = f"WHERE episode_id = (SELECT id FROM episodes {HERE})"
WRONG_UNLOCKS = {
    "a name that is no text": f"UPDATE OR REPLACE episode_achievements SET name = {NOT_UTF8} {UNLOCK}",
    "a name that is bytes": f"UPDATE OR REPLACE episode_achievements SET name = x'00ff' {UNLOCK}",
    "a step that is none": f"UPDATE episode_achievements SET step = 'soon' {UNLOCK}",
    "a step before the first": f"UPDATE episode_achievements SET step = -1 {UNLOCK}",
}


@pytest.mark.parametrize("statement", WRONG_UNLOCKS.values(), ids=WRONG_UNLOCKS.keys())
def test_unlocks_that_are_damaged_are_named_and_the_others_are_there(file: Path, statement: str):
    with TraceStore(f"sqlite:///{file}") as store:
        whole = store.unlock_steps(IDS)
    assert whole[DAMAGED], "or nothing is damaged below"
    change(file, statement)
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.unlock_steps(IDS) == {name: steps for name, steps in whole.items() if name != DAMAGED}
        (entry,) = store.unreadable_unlocks(IDS)
        assert entry.id == DAMAGED and DAMAGED in entry.problem and entry.problem.isprintable()


# ------------------------------------------------------------------------------------- the archive


# It looks at no end, no error and no unlock, and needs no more of the reward configuration than its hash.
OF_NO_CONCERN = ("an end that is none", "an error that is none", "an unlock whose name is no text")


@pytest.mark.parametrize("what", [what for what in DAMAGE if what not in (*OF_NO_CONCERN, "no reward configuration")])
def test_the_archive_names_the_one_and_has_the_others_in_order(file: Path, what: str):
    change(file, DAMAGE[what])
    with TraceStore(f"sqlite:///{file}") as store:
        ids = store.played_ids()
        assert set(ids) == set(IDS)
        part = store.archive_part(ids)
        assert [played.id for played in part.episodes] == [name for name in IDS if name != DAMAGED]
        ((name, problem),) = [(entry.id, entry.problem) for entry in part.unreadable]
        assert name == DAMAGED and DAMAGED in problem


def test_the_archive_is_asked_with_texts(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        with pytest.raises(InvalidInput, match="give a text"):
            store.archive_part([7])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("column", "value"),
    [("n_steps", "'many'"), ("n_steps", 2**62), ("n_steps", 1.5), ("env_return", "x'00'"), ("shaped_return", "9e999")],
)
def test_totals_are_those_of_the_counts_that_can_be_summed_up(file: Path, column: str, value: object):
    name = {"n_steps": "steps", "env_return": "mean_env_return", "shaped_return": "mean_shaped_return"}[column]
    with TraceStore(f"sqlite:///{file}") as store:
        others = [row for row in store.episodes().rows if row.id != DAMAGED]
    change(file, f"UPDATE episodes SET {column} = {value} {HERE}")
    with TraceStore(f"sqlite:///{file}") as store:
        totals = store.totals()
    expected = sum(getattr(row, column) for row in others)
    assert totals.episodes == len(IDS)
    assert getattr(totals, name) == pytest.approx(expected if name == "steps" else expected / len(others))
