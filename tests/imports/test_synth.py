"""Databases of synth-ai's tracing. The file in tests/data holds one session of its own task app, with short prompts."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core import replay
from core.imports import Report, import_file
from core.store import TraceStore
from core.types import RunSource, StopReason

GOLDEN = Path(__file__).parents[1] / "data" / "synth_tracing_v3.db"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN, tmp_path / "synth.db"))


def change(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def imported(store: TraceStore, database: Path) -> Report:
    report = Report()
    import_file(store, database, report)
    return report


def test_a_session_is_an_episode_without_frames(sqlite_store: TraceStore, database: Path):
    content = database.read_bytes()
    report = imported(sqlite_store, database)
    assert (report.episodes, report.decisions, report.failed) == (1, 20, 0)
    (row,) = sqlite_store.episodes.page().rows
    episode = sqlite_store.episodes.load(row.id)
    assert (row.seed, row.policy, row.n_steps, row.stop_reason) == (2, "crafter-react", 20, StopReason.OPS_DONE)
    # The unlock is stored as three types of reward; it is one.
    assert (row.env_return, row.shaped_return, row.achievements) == (1.0, 0.0, ("collect_sapling",))
    assert [decision.index for decision in episode.decisions if decision.unlocked] == [12]
    assert episode.decisions[12].after.inventory["sapling"] == 1
    assert not any(step.state.scene.is_known for step in episode.steps)
    first = episode.decisions[0]
    assert first.tool_calls[0].name == "interact_many" and first.actions == first.tool_calls[0].actions
    assert first.model_call is not None and (first.model_call.tokens_in, first.model_call.tokens_out) == (900, 30)
    assert [message["role"] for message in first.model_call.request["messages"]] == ["system", "user"]
    assert "CRAFTER GAME STATE" in first.observation
    run = sqlite_store.runs.get(row.run_id)
    assert (run.source, run.name) == (RunSource.IMPORTED, "run-1")
    assert "No proof" in replay.check(episode).sentence
    assert database.read_bytes() == content


def test_importing_twice_changes_nothing(sqlite_store: TraceStore, database: Path):
    imported(sqlite_store, database)
    again = imported(sqlite_store, database)
    assert (again.episodes, again.known_episodes) == (0, 1)


def test_without_messages_the_call_records_say_what_was_done(sqlite_store: TraceStore, database: Path):
    change(database, "DROP TABLE messages")
    assert imported(sqlite_store, database).episodes == 1
    (row,) = sqlite_store.episodes.page().rows
    assert row.n_steps == 20 and sqlite_store.episodes.load(row.id).decisions[0].actions


def test_columns_that_older_versions_lack_are_done_without(sqlite_store: TraceStore, database: Path):
    change(
        database,
        "ALTER TABLE events DROP COLUMN cost_usd",
        "ALTER TABLE events DROP COLUMN call_records",
        "ALTER TABLE session_traces DROP COLUMN metadata",
        "DROP TABLE event_rewards",
        "DROP TABLE outcome_rewards",
    )
    assert imported(sqlite_store, database).episodes == 1
    (row,) = sqlite_store.episodes.page().rows
    assert row.seed > 0 and (row.policy, row.env_return) == ("unknown", 1.0)


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (("ALTER TABLE events RENAME COLUMN event_type TO kind",), "lacks the column event_type"),
        (("DROP TABLE events",), "no table events"),
        (("DELETE FROM messages", "UPDATE events SET call_records = NULL"), "0 of its actions are known"),
        (("UPDATE events SET system_state_before = 'x', system_state_after = NULL",), "no state"),
        (("DROP TABLE session_traces",), "no table session_traces"),
    ],
)
def test_what_cannot_be_read_is_named_and_leaves_nothing(
    sqlite_store: TraceStore, database: Path, statements: tuple[str, ...], why: str
):
    change(database, *statements)
    report = imported(sqlite_store, database)
    assert report.failed == 1 and why in report.problems[0]
    assert sqlite_store.episodes.is_empty()


def test_another_file_is_refused(sqlite_store: TraceStore, tmp_path: Path):
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database" * 100)
    assert imported(sqlite_store, path).failed == 1


def test_what_a_program_has_not_moved_into_the_file_yet_comes_in_too(sqlite_store: TraceStore, database: Path):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("UPDATE session_traces SET metadata = json_set(metadata, '$.seed', 77)")
        connection.commit()
        assert imported(sqlite_store, database).episodes == 1
    assert [row.seed for row in sqlite_store.episodes.page().rows] == [77]


def test_a_view_that_never_ends_is_not_read(sqlite_store: TraceStore, tmp_path: Path):
    endless = "WITH RECURSIVE n(session_id) AS (SELECT 1 UNION ALL SELECT session_id + 1 FROM n) SELECT * FROM n"
    change(tmp_path / "odd.db", f"CREATE VIEW session_traces AS {endless}")
    assert "no table session_traces" in imported(sqlite_store, tmp_path / "odd.db").problems[0]


def test_a_session_without_a_seed_gets_one_of_its_own(sqlite_store: TraceStore, database: Path):
    change(database, "UPDATE session_traces SET metadata = json_remove(metadata, '$.seed')")
    imported(sqlite_store, database)
    assert [row.seed for row in sqlite_store.episodes.page().rows] != [0]
