"""A store that can be read but not written opens read-only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from core.errors import StoreReadOnly, StoreUnavailable
from core.store import TraceStore
from tests.support.postgres_server import PASSWORD
from tests.support.records import SEED_DESCRIPTION, copy_as_of, make_run, record_episode, record_run
from tests.support.unprivileged import reachable_folder, unprivileged


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a database of one episode, closed."""
    with reachable_folder() as made:
        with TraceStore(f"sqlite:///{made / 'traces.db'}") as store:
            store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
            record_episode(store, "a-episode", 5)
        (made / "traces.db").chmod(0o644)
        yield made


def protect(folder: Path, file_mode: int = 0o444, folder_mode: int = 0o555) -> None:
    for path in folder.iterdir():
        path.chmod(file_mode)
    folder.chmod(folder_mode)


def assert_refuses_to_write(store: TraceStore) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: store.runs.create(make_run("run-2", ["c-episode"])),
        lambda: store.queue.claim_next(worker="test"),
        lambda: store.queue.heartbeat("a-episode"),
        lambda: store.episodes.delete(["a-episode"]),
        lambda: store.seeds.save(SEED_DESCRIPTION),
    )
    for attempt in attempts:
        with pytest.raises(StoreReadOnly, match="can be read but not written.* Nothing can be launched, saved or"):
            attempt()


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "named"),
    [(0o444, 0o777, "its file"), (0o666, 0o555, "its folder"), (0o444, 0o555, "its file and folder")],
)
def test_a_protected_file_is_opened_read_only_and_not_changed(
    folder: Path, file_mode: int, folder_mode: int, named: str
):
    protect(folder, file_mode, folder_mode)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with unprivileged():
        with TraceStore(f"sqlite:///{folder / 'traces.db'}") as store:
            assert store.read_only
            assert f"{named} cannot be written by this user" in store.read_only_reason
            assert len(store.episodes.load("a-episode").decisions) == 5
            assert len(store.rewards.played(["a-episode"]).rows) == 1
            assert_refuses_to_write(store)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_read_only_store_follows_what_its_owner_writes(folder: Path):
    url = f"sqlite:///{folder / 'traces.db'}"
    folder.chmod(0o555)
    with unprivileged():
        reader = TraceStore(url)
        assert [run.id for run in reader.runs.newest().rows] == ["run-1"]
    if os.geteuid() != 0:
        folder.chmod(0o755)
    with closing(TraceStore(url)) as owner:
        owner.runs.create(make_run("run-2", ["c-episode"]))
        with unprivileged():
            assert {run.id for run in reader.runs.newest().rows} == {"run-1", "run-2"}
    with unprivileged():
        assert {run.id for run in reader.runs.newest().rows} == {"run-1", "run-2"}
        reader.close()


def test_an_older_schema_that_cannot_be_written_is_refused_and_left_alone(folder: Path, tmp_path: Path):
    with TraceStore(f"sqlite:///{folder / 'traces.db'}") as today:
        copy_as_of("0002", f"sqlite:///{tmp_path / 'older.db'}", today)
    shutil.copy(tmp_path / "older.db", folder / "older.db")
    protect(folder)
    before = (folder / "older.db").read_bytes()
    with unprivileged(), pytest.raises(StoreReadOnly, match="older schema 0002 .* `python -m core.store migrate`"):
        TraceStore(f"sqlite:///{folder / 'older.db'}")
    assert (folder / "older.db").read_bytes() == before


def test_an_empty_read_only_file_is_refused(folder: Path):
    (folder / "empty.db").touch()
    protect(folder)
    with unprivileged(), pytest.raises(StoreReadOnly, match=r"empty.db is empty.* can be read but not written"):
        TraceStore(f"sqlite:///{folder / 'empty.db'}")


def test_a_file_without_read_permission_is_refused(folder: Path):
    (folder / "traces.db").chmod(0o000)
    with unprivileged(), pytest.raises(StoreUnavailable, match=r"traces.db cannot be opened"):
        TraceStore(f"sqlite:///{folder / 'traces.db'}")


# ------------------------------------------------------------------------------------------- PostgreSQL


def test_a_read_only_server_is_opened_read_only(postgres_url: str, postgres_store: TraceStore):
    record_run(postgres_store, "a-episode", decisions=3)
    with TraceStore(f"{postgres_url}%20-cdefault_transaction_read_only%3Don") as store:
        assert store.read_only
        assert len(store.episodes.load("a-episode").decisions) == 3
        assert_refuses_to_write(store)


def test_a_postgresql_user_without_the_right_to_write_reads(postgres_url: str, postgres_store: TraceStore):
    record_run(postgres_store, "a-episode", decisions=3)
    schema = postgres_url.rpartition("%3D")[2]
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        for statement in (
            f"CREATE ROLE {schema}_reader LOGIN PASSWORD '{PASSWORD}'",
            f"GRANT USAGE ON SCHEMA {schema} TO {schema}_reader",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader",
        ):
            connection.execute(text(statement))
    with TraceStore(postgres_url.replace("tester:", f"{schema}_reader:")) as store:
        assert store.read_only
        assert "the user's rights" in store.read_only_reason
        assert len(store.episodes.load("a-episode").decisions) == 3
        assert_refuses_to_write(store)
    with engine.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {schema}_reader"))
        connection.execute(text(f"DROP ROLE {schema}_reader"))
    engine.dispose()
