"""Opening a store, and what goes wrong with disks, files and servers: each a sentence, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from core.errors import CraftscopeError, InvalidConfig, StoreCorrupt, StoreError, StoreUnavailable
from core.settings import Settings
from core.store import TraceStore
from core.store.database import Database
from core.store.sqlite_file import sqlite_driver
from core.types import EpisodeStatus
from tests.support.postgres_server import PASSWORD
from tests.support.records import START, make_decisions, make_run, record_episode
from tests.support.unprivileged import reachable_folder, unprivileged


def settings(folder: Path, db_url: str | None = None) -> Settings:
    """Settings with that data folder."""
    return Settings(data_dir=folder, db_url=db_url, max_workers=1)


def test_the_data_folder_and_the_database_are_made_on_the_first_start(tmp_path: Path):
    folder = tmp_path / "new" / "data with space, % and ü"
    with TraceStore.from_settings(settings(folder)) as store:
        assert store.episodes.is_empty()
    assert (folder / "craftscope.db").is_file()
    with TraceStore.from_settings(settings(folder)) as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
    with TraceStore.from_settings(settings(folder)) as store:
        assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_and_write_a_new_database(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        with TraceStore.from_settings(settings(tmp_path)) as store:
            store.runs.create(make_run("run-1", ["a-episode"]))
            modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["craftscope.db", "craftscope.db-wal", "craftscope.db-shm"], "0o600")


def test_the_target_of_a_link_is_private_too(tmp_path: Path):
    (tmp_path / "craftscope.db").symlink_to(tmp_path / "target.db")
    TraceStore.from_settings(settings(tmp_path)).close()
    assert (tmp_path / "target.db").stat().st_mode & 0o777 == 0o600


def test_a_database_keeps_the_mode_that_its_owner_gave_it(tmp_path: Path):
    TraceStore.from_settings(settings(tmp_path)).close()
    (tmp_path / "craftscope.db").chmod(0o640)
    TraceStore.from_settings(settings(tmp_path)).close()
    assert (tmp_path / "craftscope.db").stat().st_mode & 0o777 == 0o640


def test_a_url_in_the_settings_wins_over_the_data_folder(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with TraceStore.from_settings(settings(tmp_path / "data", url)) as store:
        assert store.url == url
    assert not (tmp_path / "data").exists()


def test_the_store_says_what_holds_the_data(sqlite_store: TraceStore):
    assert sqlite_store.backend == f"SQLite {sqlite_driver().sqlite_version} ({sqlite_driver().__name__})"


def test_sqlite_runs_as_it_was_designed_to(sqlite_store: TraceStore):
    with sqlite_store._database.reading() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys", "auto_vacuum", "cache_size")
        }
    assert values == {
        "journal_mode": "wal",
        "synchronous": 1,
        "busy_timeout": 30000,
        "foreign_keys": 1,
        "auto_vacuum": 2,
        "cache_size": -65536,
    }


def test_a_writer_begins_with_the_lock_and_a_reader_without(sqlite_store: TraceStore):
    said: list[str] = []
    engine = sqlite_store._database.engine
    event.listen(engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    sqlite_store.episodes.is_empty()
    sqlite_store.queue.heartbeat("nobody")
    assert [words for words in said if words.startswith("BEGIN")] == ["BEGIN", "BEGIN IMMEDIATE"]


def test_many_threads_read_while_one_writes(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    store.queue.claim_next(worker="test")
    recorder = store.recorder("a-episode")
    initial, decisions = make_decisions(40)
    recorder.start(START, initial)
    done, problems, seen = threading.Event(), list[BaseException](), list[int]()

    def read() -> None:
        try:
            while not done.is_set():
                loaded, later = store.episodes.load("a-episode"), store.episodes.load("a-episode")
                assert [decision.index for decision in loaded.decisions] == list(range(len(loaded.decisions)))
                assert len(later.decisions) >= len(loaded.decisions)
                seen.append(len(loaded.decisions))
                store.episodes.page()
        except BaseException as error:  # noqa: BLE001  handed to the test
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for decision in decisions:
        recorder.record(decision)
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert seen
    assert len(store.episodes.decisions("a-episode")) == 40


# --------------------------------------------------------------------------------------------- URLs


@pytest.mark.parametrize(
    "url",
    [
        *("", "nonsense", "a://b:geheim@c", "mysql://u:geheim@h/db", "oracle://u:geheim@h/db"),
        *("sqlite://", "sqlite:///:memory:", "sqlite://u:geheim@/x", "sqlite://host/x"),
        *("sqlite+aiosqlite:///x", "sqlite+pysqlcipher://:geheim@/x", "postgresql+pg8000://u:geheim@h/d"),
        *("sqlite:///x?timeout=abc", "sqlite:///x?foo=geheim", "sqlite:///x?mode=memory&uri=true"),
        *("postgresql://half\udcff/d", f"postgresql://{'x' * 70}/d", "postgresql://h/d?host=a,b&port=1,2,3"),
        *("postgresql://h:geheim/d", "postgresql://h/d?foo=geheim", "postgresql://h/d?connect_timeout=geheim"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_what_can_be(url: str):
    with pytest.raises(InvalidConfig) as caught:
        TraceStore(url)
    assert "CRAFTSCOPE_DB_URL" in str(caught.value)
    assert "sqlite:///<file>" in str(caught.value) or "postgresql://<user>" in str(caught.value)
    assert "geheim" not in "".join(traceback.format_exception(caught.value))


def test_no_option_of_a_url_is_ever_shown(tmp_path: Path):
    secret = "sslpassword=geheim&options=-cgeheim&oauth_client_secret=geheim&passfile=geheim"
    url = f"postgresql://tester:geheim@127.0.0.1:1/db?{secret}"
    database = Database(url)
    assert database.url.endswith("127.0.0.1:1/db")
    assert "geheim" not in database.url + database.place + repr(settings(tmp_path, url))
    database.close()


@pytest.mark.parametrize("name", ["half \udcff", "with\0nul"])
def test_a_file_name_that_sqlite_cannot_open_is_said(tmp_path: Path, name: str):
    for url in (f"sqlite:///{tmp_path}/{name}", f"sqlite:///{tmp_path}/{name}/x.db"):
        with pytest.raises(InvalidConfig, match="rename its folder or file") as caught:
            TraceStore(url)
        assert str(caught.value).isprintable()
    with pytest.raises(CraftscopeError, match="CRAFTSCOPE_DATA_DIR") as caught:
        TraceStore.from_settings(settings(tmp_path / name))
    assert str(caught.value).isprintable()


def test_a_file_may_be_called_anything_else(tmp_path: Path):
    folder = tmp_path / "what?#&=+ 100%25 @:;,'\" ü\n"
    with TraceStore.from_settings(settings(folder)) as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
    assert (folder / "craftscope.db").is_file()


def test_passwords_are_never_shown():
    with socket.socket() as taken:  # bound but not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        url = f"postgresql://tester:geheim@127.0.0.1:{port}/db?password=geheim&connect_timeout=2"
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{port}/db.* cannot be reached") as caught:
            TraceStore(url)
    assert "geheim" not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_or_database_is_said_without_the_password(postgres_url: str):
    for wrong in (postgres_url.replace(PASSWORD, "wrong-geheim"), postgres_url.replace("/postgres?", "/nowhere?")):
        with pytest.raises(StoreUnavailable, match="cannot be reached. Check that the server runs") as caught:
            TraceStore(wrong)
        shown = "".join(traceback.format_exception(caught.value))
        assert "geheim" not in shown and PASSWORD not in shown
    with TraceStore(postgres_url) as store:
        assert PASSWORD not in store.url and "***" in store.url


# ------------------------------------------------------------------------------------------- folders


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match=r"The data folder .*file/data cannot be created .* CRAFTSCOPE_DATA_DIR"):
        TraceStore.from_settings(settings(tmp_path / "file" / "data"))


def test_a_folder_that_is_missing_is_named(tmp_path: Path):
    with pytest.raises(StoreUnavailable, match=r"nowhere/traces.db cannot be opened: its folder does not exist"):
        TraceStore(f"sqlite:///{tmp_path}/nowhere/traces.db")


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path):
    (tmp_path / "craftscope.db").mkdir()
    with pytest.raises(StoreUnavailable, match=r"craftscope.db cannot be opened"):
        TraceStore.from_settings(settings(tmp_path))


def test_a_folder_that_cannot_be_written_is_named():
    with reachable_folder() as folder:
        folder.chmod(0o555)
        with unprivileged(), pytest.raises(StoreUnavailable, match=r"craftscope.db cannot be opened .* can be written"):
            TraceStore.from_settings(settings(folder))


def test_a_database_that_became_read_only_is_said_to_be(sqlite_store: TraceStore):
    event.listen(sqlite_store._database.engine, "checkout", _pragma("query_only = ON"))
    sqlite_store.episodes.is_empty()
    with pytest.raises(StoreUnavailable, match="can be read but not written. Make the file and its folder writable"):
        sqlite_store.runs.create(make_run("run-1", ["a-episode"]))


# --------------------------------------------------------------------------------------------- disks


def _pragma(setting: str) -> Any:
    def set_it(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA {setting}").close()

    return set_it


def test_a_full_disk_is_said_and_what_was_recorded_before_is_kept(sqlite_store: TraceStore):
    store = sqlite_store
    store.runs.create(make_run("run-1", ["a-episode"]))
    store.queue.claim_next(worker="test")
    recorder = store.recorder("a-episode")
    initial, decisions = make_decisions(400)
    recorder.start(START, initial)
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


def test_a_lock_that_another_program_keeps_is_said(sqlite_store: TraceStore, tmp_path: Path):
    event.listen(sqlite_store._database.engine, "checkout", _pragma("busy_timeout = 10"))
    other = sqlite_driver().connect(str(tmp_path / "traces.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="stayed locked by another program"):
        sqlite_store.runs.create(make_run("run-1", ["a-episode"]))
    other.execute("ROLLBACK")
    other.close()
    sqlite_store.runs.create(make_run("run-1", ["a-episode"]))


# ------------------------------------------------------------------------------------- corrupt files


@pytest.mark.parametrize("content", [b"no database at all, but long enough to look like one. " * 200, b"x"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes):
    file = tmp_path / "craftscope.db"
    file.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"craftscope.db is not a database.* move the file away"):
        TraceStore.from_settings(settings(tmp_path))
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["craftscope.db"]


def test_an_empty_file_becomes_a_store(tmp_path: Path):
    (tmp_path / "craftscope.db").touch()
    with TraceStore.from_settings(settings(tmp_path)) as store:
        assert store.episodes.is_empty()


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
        store.runs.create(make_run("run-1", ["a-episode"]))
        record_episode(store, "a-episode", 50)
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


def test_a_corrupt_decision_is_named_and_the_others_can_be_read(sqlite_store: TraceStore):
    sqlite_store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(sqlite_store, "a-episode", 5)
    with sqlite_store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE decision_payloads SET blob = substr(blob, 1, 20) WHERE decision_id = 4")
    with pytest.raises(StoreCorrupt, match="Decision 3 of Episode a-episode is stored but cannot be read"):
        sqlite_store.episodes.decision("a-episode", 3)
    assert sqlite_store.episodes.decision("a-episode", 2).index == 2
    assert len(sqlite_store.episodes.decisions("a-episode")) == 5


def test_a_backup_taken_with_all_its_files_opens(tmp_path: Path, sqlite_store: TraceStore):
    sqlite_store.runs.create(make_run("run-1", ["a-episode"]))
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("traces.db", "traces.db-wal"):
        shutil.copy(tmp_path / name, copy / name)
    with TraceStore(f"sqlite:///{copy / 'traces.db'}") as store:
        assert store.episodes.get("a-episode").id == "a-episode"


def test_programming_errors_pass_unchanged(sqlite_store: TraceStore):
    database: Database = sqlite_store._database
    with pytest.raises(Exception, match="syntax error") as caught, database.reading() as connection:
        connection.exec_driver_sql("SELEC * FROM runs")
    assert not isinstance(caught.value, StoreError)
