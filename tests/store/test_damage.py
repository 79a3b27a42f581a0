"""Damaged and foreign databases: whatever the bytes are, what comes out is an error of our tree with a sentence."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import CraftscopeError, InvalidInput, StoreCorrupt, UnknownEpisode
from core.store import EpisodeFilter, TraceStore
from core.store.database import sqlite_driver
from core.store.tables import metadata
from core.types import EnvConfig, EpisodeStatus, RewardConfig, StopReason
from tests.support.records import SEED_DESCRIPTION, make_run, record_episode

FUZZED = 60
SCORED = RewardConfig("per_achievement", weights={"collect_wood": 4.0})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in one file, with a finished episode, one that runs and one that waits. Nothing has it open."""
    file = tmp_path_factory.mktemp("whole") / "traces.db"
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("run-1", ["a-episode", "b-episode", "c-episode"]))
        record_episode(store, "a-episode", 6)
        store.claim_next(worker="test")
        store.save_seed_description(SEED_DESCRIPTION)
        store.save_reward("another", SCORED)
        store.save_scorings(SCORED, {"a-episode": 1.5})
    with closing(sqlite_driver().connect(str(file))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return file


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copy(whole, tmp_path / "traces.db"))


def reads(store: TraceStore) -> Iterator[Callable[[], object]]:
    """Every public method that reads."""
    for episode_id in ("a-episode", "b-episode", "c-episode"):
        for ask in (store.episode, store.initial, store.decisions, store.load_episode, store.packed_scenes):
            yield lambda ask=ask, episode_id=episode_id: ask(episode_id)
        for ask in (store.latest_scene, store.reward_facts, store.stop_requested, store.recorder):
            yield lambda ask=ask, episode_id=episode_id: ask(episode_id)
    for index in range(6):
        yield lambda index=index: store.decision("a-episode", index)
    yield lambda: store.decision_at_step("a-episode", 1)
    yield from (
        store.is_empty,
        store.runs,
        store.unreadable_runs,
        store.episodes,
        store.totals,
        store.policies,
        store.interrupt_stale,
    )
    yield from (store.model_profiles, store.saved_rewards, store.unreadable_rewards)
    yield from (store.played_ids, store.without_decision)
    yield lambda: store.archive_part(store.played_ids())
    yield lambda: store.archive_part(["a-episode", "b-episode"])
    for ask in (store.unlock_steps, store.unreadable_unlocks):
        yield lambda ask=ask: ask(["a-episode", "b-episode"])
    for ask in (store.scorings, store.unreadable_scorings):
        yield lambda ask=ask: ask(SCORED.config_hash)
    yield lambda: store.generation
    yield lambda: store.run("run-1")
    yield lambda: store.run_episodes("run-1")
    yield lambda: store.unreadable_episodes("run-1")
    yield lambda: store.episodes(EpisodeFilter(achievements=("collect_wood",), seeds=(0,)), limit=1)
    yield lambda: store.totals(EpisodeFilter(statuses=(EpisodeStatus.COMPLETED,)))
    yield lambda: store.seed_description(42, 1, EnvConfig(), "engine-1")


def errors_of(file: Path) -> list[CraftscopeError]:
    """What a person meets who opens the file and looks at everything. Anything but our errors fails the test."""
    met: list[CraftscopeError] = []
    try:
        store = TraceStore(f"sqlite:///{file}")
    except CraftscopeError as error:
        return [error]
    with store:
        for read in reads(store):
            try:
                read()
            except CraftscopeError as error:
                met.append(error)
    return met


def check_sentences(met: list[CraftscopeError]) -> None:
    for error in met:
        said = str(error)
        assert said.endswith(".") and said.isprintable() and len(said) < 700, said
        assert not isinstance(error, InvalidInput), said  # nothing that was asked for was wrong


def test_an_undamaged_database_can_be_read_in_every_way(damaged: Path):
    assert errors_of(damaged) == []


@pytest.mark.parametrize("seed", range(FUZZED))
def test_overwritten_bytes_never_show_as_anything_but_a_sentence(damaged: Path, seed: int):
    draw = random.Random(seed)
    content = bytearray(damaged.read_bytes())
    for _ in range(draw.choice((1, 4, 40, 400))):
        start = draw.randrange(100 if seed % 4 else 0, len(content))
        length = min(draw.choice((1, 1, 8, 64, 512)), len(content) - start)
        content[start : start + length] = draw.choice((bytes(length), b"\xff" * length, draw.randbytes(length)))
    damaged.write_bytes(content)
    check_sentences(errors_of(damaged))


GARBAGE = ("'no such thing'", "x'00ff41c3'", "CAST(x'ff41' AS TEXT)", "1e999", "-9223372036854775808", "''")
COLUMNS = [
    (number, table.name, column.name)
    for table in metadata.sorted_tables
    for number, column in enumerate(table.columns)
    if not column.primary_key
]


@pytest.mark.parametrize(("number", "table", "column"), COLUMNS, ids=str)
def test_garbage_in_a_column_never_shows_as_anything_but_a_sentence(
    damaged: Path, number: int, table: str, column: str
):
    _change(damaged, f"UPDATE OR IGNORE {table} SET {column} = {GARBAGE[number % len(GARBAGE)]}")
    check_sentences(errors_of(damaged))


@pytest.mark.parametrize("table", [table.name for table in metadata.sorted_tables])
def test_a_table_that_is_missing_or_empty_is_said(damaged: Path, table: str):
    _change(damaged, f"DELETE FROM {table}")
    check_sentences([error for error in errors_of(damaged) if not isinstance(error, UnknownEpisode)])
    _change(damaged, f"DROP TABLE {table}")
    met = errors_of(damaged)
    assert any(isinstance(error, StoreCorrupt) for error in met)
    check_sentences([error for error in met if not isinstance(error, UnknownEpisode)])


def test_a_column_that_is_missing_is_named(damaged: Path):
    _change(damaged, "ALTER TABLE decisions DROP COLUMN actions")
    with TraceStore(f"sqlite:///{damaged}") as store:
        with pytest.raises(StoreCorrupt, match=r"traces.db lacks a part .*actions.* Put back a copy that is whole"):
            store.decisions("a-episode")


def test_a_status_that_nobody_knows_is_said_with_its_episode(damaged: Path):
    _change(damaged, "UPDATE episodes SET status = 'dreaming' WHERE uuid = 'b-episode'")
    with TraceStore(f"sqlite:///{damaged}") as store:
        with pytest.raises(StoreCorrupt, match="Episode b-episode is stored but cannot be read .*dreaming"):
            store.episode("b-episode")
        run = store.run("run-1")
        assert sum(run.counts.values()) == run.n_episodes - 1
        assert store.episode("a-episode").status is EpisodeStatus.COMPLETED


def test_a_queued_episode_that_cannot_be_read_does_not_stop_those_behind_it(damaged: Path):
    with TraceStore(f"sqlite:///{damaged}") as store:
        store.create_run(make_run("run-2", ["d-episode"]))
    _change(damaged, "UPDATE episodes SET spec = '{' WHERE uuid = 'c-episode'")
    with TraceStore(f"sqlite:///{damaged}") as store:
        claimed = store.claim_next(worker="test")
        assert claimed is not None and claimed[1].id == "d-episode"
        with store._database.reading() as connection:
            row = connection.exec_driver_sql("SELECT status, stop_reason FROM episodes WHERE uuid = 'c-episode'").one()
    assert tuple(row) == ("interrupted", StopReason.INTERRUPTED.value)


def test_what_is_asked_for_wrongly_is_not_blamed_on_the_database(damaged: Path):
    with TraceStore(f"sqlite:///{damaged}") as store:
        asked: tuple[Callable[[], object], ...] = (
            lambda: store.episode(None),  # pyright: ignore[reportArgumentType]
            lambda: store.run(5),  # pyright: ignore[reportArgumentType]
            lambda: store.decision("a-episode", "1"),  # pyright: ignore[reportArgumentType]
            lambda: store.episodes(limit=None),  # pyright: ignore[reportArgumentType]
            lambda: store.runs(10**30),
            lambda: store.episodes(None),  # pyright: ignore[reportArgumentType]
            lambda: store.totals(EpisodeFilter(seeds=("x",))),  # pyright: ignore[reportArgumentType]
            lambda: store.totals(EpisodeFilter(min_reward=10**400)),
            lambda: store.episodes(EpisodeFilter(run_id=5)),  # pyright: ignore[reportArgumentType]
            lambda: store.episodes(EpisodeFilter(policies=5)),  # pyright: ignore[reportArgumentType]
            lambda: store.episodes(cursor=5),  # pyright: ignore[reportArgumentType]
            lambda: store.seed_description(10**30, 1, EnvConfig(), "engine-1"),
            lambda: store.heartbeat(5),  # pyright: ignore[reportArgumentType]
            lambda: store.request_stop(run_id=5),  # pyright: ignore[reportArgumentType]
        )
        for number, ask in enumerate(asked):
            with pytest.raises(InvalidInput):
                ask()
                pytest.fail(f"number {number} passed")


def _change(file: Path, statement: str) -> None:
    with closing(sqlite_driver().connect(str(file), isolation_level=None)) as connection:
        connection.execute(statement)
