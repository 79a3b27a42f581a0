"""Opening a store, and errors of disks, files and servers: each is reported in a sentence, and nothing is lost."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from core.errors import CraftscopeError, InvalidConfig, StoreCorrupt, StoreError, StoreUnavailable
from core.settings import Settings
from core.store import TraceStore, database
from core.store.sqlite_file import sqlite_driver
from core.types import EpisodeStatus
from tests.support.postgres_server import PASSWORD
from tests.support.records import change, make_decisions, make_run, record_run, start_recording
from tests.support.unprivileged import reachable_folder, unprivileged


def settings(folder: Path, db_url: str | None = None) -> Settings:
    """Settings with that data folder."""
    return Settings(data_dir=folder, db_url=db_url, max_workers=1)


def test_the_data_folder_and_the_database_are_created_on_the_first_start(tmp_path: Path):
    folder = tmp_path / "data with what?#&=+ 100%25 @:;,'\" ü\n"
    with TraceStore.from_settings(settings(folder)) as store:
        assert store.episodes.is_empty()
        assert store.backend == f"SQLite {sqlite_driver().sqlite_version} ({sqlite_driver().__name__})"
        store.runs.create(make_run("run-1", ["a-episode"]))
    assert (folder / "craftscope.db").is_file()
    with TraceStore.from_settings(settings(folder)) as store:
        assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_and_write_a_new_database(tmp_path: Path, umask: int):
    (tmp_path / "craftscope.db").symlink_to(tmp_path / "target.db")
    before = os.umask(umask)
    try:
        with TraceStore.from_settings(settings(tmp_path)) as store:
            store.runs.create(make_run("run-1", ["a-episode"]))
            modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir() if path.is_file()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["craftscope.db", "target.db", "target.db-wal", "target.db-shm"], "0o600")


def test_an_existing_database_keeps_its_mode(tmp_path: Path):
    (tmp_path / "craftscope.db").touch(0o640)  # an empty file becomes a store
    (tmp_path / "craftscope.db").chmod(0o640)
    TraceStore.from_settings(settings(tmp_path)).close()
    assert (tmp_path / "craftscope.db").stat().st_mode & 0o777 == 0o640


def test_a_url_in_the_settings_overrides_the_data_folder(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with TraceStore.from_settings(settings(tmp_path / "data", url)) as store:
        assert store.url == url
    assert not (tmp_path / "data").exists()


def test_sqlite_has_the_pragmas_that_the_store_relies_on(sqlite_store: TraceStore):
    with sqlite_store._database.reading() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys", "auto_vacuum")
        }
    assert values == {
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": 30000,
        "foreign_keys": 1,
        "auto_vacuum": 2,
    }


def test_a_writer_waits_for_another_and_a_reader_does_not(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    with ThreadPoolExecutor() as threads:
        with store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE episodes SET worker = 'other'")
            assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED
            deletion = threads.submit(store.episodes.delete, ["a-episode"])
            with pytest.raises(TimeoutError):
                deletion.result(timeout=0.5)
        assert deletion.result(timeout=30) == 1


def test_many_threads_read_whole_episodes_while_one_writes(store: TraceStore):
    recorder = start_recording(store, "a-episode")
    done = threading.Event()

    def read() -> int:
        times = 0
        while not done.is_set():
            loaded = store.episodes.load("a-episode")
            assert [decision.index for decision in loaded.decisions] == list(range(len(loaded.decisions)))
            times += 1
        return times

    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(read) for _ in range(8)]
        try:
            for decision in make_decisions(40)[1]:
                recorder.record(decision)
        finally:
            done.set()
    assert sum(reader.result() for reader in readers) > 0
    assert len(store.episodes.decisions("a-episode")) == 40


# --------------------------------------------------------------------------------------------- URLs


@pytest.mark.parametrize(
    "url",
    [
        *("", "nonsense", "a://b:hunter2@c", "mysql://u:hunter2@h/db", "postgresql+pg8000://u:hunter2@h/d"),
        *("sqlite://", "sqlite:///:memory:", "sqlite://u:hunter2@/x", "sqlite+aiosqlite:///x", "sqlite:///x?a=hunter2"),
        *("postgresql://half\udcff/d", f"postgresql://{'x' * 70}/d", "postgresql://h:hunter2/d"),
    ],
)
def test_an_unsupported_url_is_refused_with_the_supported_forms(url: str):
    with pytest.raises(InvalidConfig, match="CRAFTSCOPE_DB_URL.*sqlite:///<file>") as caught:
        TraceStore(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["half \udcff", "with\0nul"])
def test_a_file_name_that_sqlite_cannot_open_is_refused(tmp_path: Path, name: str):
    with pytest.raises(InvalidConfig, match="Rename its folder or file") as caught:
        TraceStore(f"sqlite:///{tmp_path}/{name}/x.db")
    assert str(caught.value).isprintable()
    with pytest.raises(CraftscopeError, match="CRAFTSCOPE_DATA_DIR") as caught:
        TraceStore.from_settings(settings(tmp_path / name))
    assert str(caught.value).isprintable()


def test_a_url_with_an_unknown_option_is_reported():
    with pytest.raises(StoreUnavailable, match="Check .* the database, user, password and options"):
        TraceStore("postgresql://127.0.0.1/d?foo=1")


def test_passwords_and_options_of_a_url_are_never_shown(tmp_path: Path):
    with socket.socket() as taken:  # bound but not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}/db"
        url = f"postgresql://tester:hunter2@{place}?password=hunter2&sslpassword=hunter2&connect_timeout=2"
        assert "hunter2" not in repr(settings(tmp_path, url))
        with pytest.raises(StoreUnavailable, match=f"{place} cannot be reached") as caught:
            TraceStore(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_or_database_is_reported_without_the_password(postgres_url: str):
    for wrong in (postgres_url.replace(PASSWORD, "wrong-hunter2"), postgres_url.replace("/postgres?", "/nowhere?")):
        with pytest.raises(StoreUnavailable, match="cannot be reached. Check that the server runs") as caught:
            TraceStore(wrong)
        shown = "".join(traceback.format_exception(caught.value))
        assert "hunter2" not in shown and PASSWORD not in shown
    with TraceStore(postgres_url) as store:
        assert PASSWORD not in store.url and "***" in store.url


# ------------------------------------------------------------------------------------------- folders


def test_a_data_folder_that_cannot_be_created_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match=r"The data folder .*file/data cannot be created .* CRAFTSCOPE_DATA_DIR"):
        TraceStore.from_settings(settings(tmp_path / "file" / "data"))


def test_a_missing_folder_is_reported(tmp_path: Path):
    with pytest.raises(StoreUnavailable, match=r"nowhere/traces.db cannot be opened .* its folder exists"):
        TraceStore(f"sqlite:///{tmp_path}/nowhere/traces.db")


def test_a_folder_with_the_name_of_the_file_is_reported(tmp_path: Path):
    (tmp_path / "craftscope.db").mkdir()
    with pytest.raises(StoreUnavailable, match=r"craftscope.db cannot be opened"):
        TraceStore.from_settings(settings(tmp_path))


def test_a_folder_without_write_permission_is_reported():
    with reachable_folder() as folder:
        folder.chmod(0o555)
        with unprivileged(), pytest.raises(StoreUnavailable, match=r"craftscope.db cannot be opened .* can be written"):
            TraceStore.from_settings(settings(folder))


# --------------------------------------------------------------------------------------------- disks


def _pragma(setting: str) -> Any:
    def set_it(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA {setting}").close()

    return set_it


def test_a_full_disk_is_reported_and_earlier_decisions_are_kept(sqlite_store: TraceStore):
    store = sqlite_store
    recorder = start_recording(store, "a-episode")
    _, decisions = make_decisions(400)
    # A limit on the file's pages: SQLite answers as it does where the file system has no room.
    limit = _pragma("max_page_count = 100")
    event.listen(store._database.engine, "checkout", limit)
    stored = 0
    with pytest.raises(StoreUnavailable, match=r"The disk is full: .*traces.db cannot grow. Free some space"):
        for decision in decisions:
            recorder.record(decision)
            stored += 1
    assert len(store.episodes.load("a-episode").decisions) == stored > 0
    event.remove(store._database.engine, "checkout", limit)
    event.listen(store._database.engine, "checkout", _pragma("max_page_count = 4294967294"))
    for decision in decisions[stored:]:
        recorder.record(decision)
    assert len(store.episodes.decisions("a-episode")) == 400


def test_a_database_that_another_program_locks_for_too_long_is_reported(sqlite_store: TraceStore, tmp_path: Path):
    event.listen(sqlite_store._database.engine, "checkout", _pragma("busy_timeout = 10"))
    with closing(sqlite_driver().connect(str(tmp_path / "traces.db"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert sqlite_store.episodes.is_empty()
        with pytest.raises(StoreUnavailable, match="stayed locked by another program"):
            sqlite_store.runs.create(make_run("run-1", ["a-episode"]))


def test_a_postgresql_table_that_is_locked_for_too_long_is_reported(postgres_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.01)
    with TraceStore(postgres_url) as store, store._database.engine.connect() as other:
        other.exec_driver_sql("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="stayed locked by another program"):
            store.runs.create(make_run("run-1", ["a-episode"]))


# ------------------------------------------------------------------------------------- corrupt files


@pytest.mark.parametrize("content", [b"no database at all, but long enough to look like one. " * 200, b"x"])
def test_a_file_that_is_not_a_database_is_left_alone(tmp_path: Path, content: bytes):
    file = tmp_path / "craftscope.db"
    file.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"craftscope.db is not a database.* move the file away"):
        TraceStore.from_settings(settings(tmp_path))
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["craftscope.db"]


def test_the_database_of_another_program_is_left_alone(tmp_path: Path):
    file = tmp_path / "craftscope.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(StoreCorrupt, match="holds other tables and is not Craftscope's"):
        TraceStore.from_settings(settings(tmp_path))
    assert file.read_bytes() == before


def test_a_corrupt_file_is_reported_and_not_changed(tmp_path: Path):
    with TraceStore.from_settings(settings(tmp_path)) as store:
        record_run(store, "a-episode", decisions=50)
    file = tmp_path / "craftscope.db"
    whole = file.read_bytes()
    corrupt = whole[:4096] + b"\xa5" * (len(whole) - 4096)
    file.write_bytes(corrupt)
    with pytest.raises(StoreCorrupt, match=r"craftscope.db is corrupt .* Restore a backup: stop .* -wal and -shm"):
        with TraceStore.from_settings(settings(tmp_path)) as store:
            store.episodes.load("a-episode")
    assert file.read_bytes()[4096:] == corrupt[4096:]
    file.write_bytes(whole)
    with TraceStore.from_settings(settings(tmp_path)) as store:
        assert len(store.episodes.load("a-episode").decisions) == 50


def test_a_corrupt_decision_is_reported_and_the_others_can_be_read(sqlite_store: TraceStore):
    record_run(sqlite_store, "a-episode", decisions=5)
    change(sqlite_store, "UPDATE decision_payloads SET blob = substr(blob, 1, 20) WHERE decision_id = 4")
    with pytest.raises(StoreCorrupt, match="Decision 3 of Episode a-episode is stored but cannot be read"):
        sqlite_store.episodes.decision("a-episode", 3)
    assert sqlite_store.episodes.decision("a-episode", 2).index == 2
    assert len(sqlite_store.episodes.decisions("a-episode")) == 5


def test_programming_errors_pass_unchanged(sqlite_store: TraceStore):
    with pytest.raises(Exception, match="syntax error") as caught, sqlite_store._database.reading() as connection:
        connection.exec_driver_sql("SELEC * FROM runs")
    assert not isinstance(caught.value, StoreError)
