"""What happens to the files beside a database is noticed, loses nothing that was acknowledged, and harms no copy."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from core.errors import CraftscopeError, StoreCorrupt, StoreGone
from core.store import TraceStore, sqlite_wal
from tests.support.processes import forks, start
from tests.support.records import make_run, record_episode


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the database lies: a folder of its own."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "traces.db"


class Dashboard:
    """A store in a process of its own, which writes a run whenever it is asked to."""

    def __init__(self, file: Path) -> None:
        self._pipe, other = forks.Pipe()
        self._process = start(_serve, f"sqlite:///{file}", other)
        other.close()
        assert self._pipe.recv() == "open"

    def write(self, name: str) -> str:
        """What came of it: "stored", or the error's sentence."""
        self._pipe.send(name)
        return self._pipe.recv()

    def stop(self) -> None:
        """Let it close its store."""
        self._pipe.send(None)
        self._process.join()
        self._pipe.close()

    def kill(self) -> None:
        """With SIGKILL."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(url: str, pipe: Connection) -> None:
    with TraceStore(url) as store:
        pipe.send("open")
        while (name := pipe.recv()) is not None:
            try:
                store.create_run(make_run(name, [f"{name}-{number}" for number in range(3)]))
                pipe.send("stored")
            except CraftscopeError as error:
                pipe.send(f"{type(error).__name__}: {error}")


@contextmanager
def dashboard(file: Path) -> Generator[Dashboard, None, None]:
    """One that is killed in the end."""
    started = Dashboard(file)
    try:
        yield started
    finally:
        started.kill()


def wal_removed(file: Path) -> None:
    beside(file, "-wal").unlink()


def both_removed(file: Path) -> None:
    wal_removed(file)
    beside(file, "-shm").unlink()


def beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def runs_in(file: Path) -> set[str]:
    """Opened anew, and whole."""
    with TraceStore(f"sqlite:///{file}") as store:
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        return {run.id for run in store.runs()}


# --------------------------------------------------------------------------- removed while it is open


@pytest.mark.parametrize("happens", [wal_removed, both_removed])
def test_a_write_after_the_wal_was_removed_is_refused_and_those_before_survive_a_kill(
    file: Path, happens: Callable[[Path], None]
):
    with dashboard(file) as running:
        assert [running.write("first"), running.write("second")] == ["stored", "stored"]
        happens(file)
        said = running.write("third")
        assert said.startswith("StoreGone: The -wal file of the database ") and "was removed while it was open" in said
        assert "What was stored before is kept" in said
        assert said.endswith("Stop the dashboard and the workers, then start them again.")
        assert running.write("fourth").startswith("StoreGone")
    assert runs_in(file) == {"first", "second"}


@pytest.mark.parametrize("happens", [wal_removed, both_removed])
def test_what_was_stored_before_survives_a_stop_too(file: Path, happens: Callable[[Path], None]):
    running = Dashboard(file)
    assert running.write("first") == "stored"
    happens(file)
    running.stop()
    assert runs_in(file) == {"first"}


@pytest.mark.parametrize("happens", [wal_removed, both_removed])
def test_a_write_under_way_when_the_wal_goes_is_not_taken_for_stored(file: Path, happens: Callable[[Path], None]):
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("first", ["a-episode"]))
        with pytest.raises(StoreGone, match="-wal"), store._database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM episodes")
            happens(file)
        with pytest.raises(StoreGone, match="What was stored before is kept"):
            store.is_empty()
    with TraceStore(f"sqlite:///{file}") as store:
        assert store.episode("a-episode").run_id == "first"


def test_all_that_have_the_database_open_refuse_and_none_loses_anything(file: Path):
    with dashboard(file) as one, dashboard(file) as other:
        assert [one.write("first"), other.write("second"), one.write("third")] == ["stored"] * 3
        both_removed(file)
        assert "What was stored before is kept" in one.write("fourth")
        assert other.write("fifth").startswith("StoreGone")
    assert runs_in(file) == {"first", "second", "third"}


def test_a_removed_shm_is_said(file: Path):
    with dashboard(file) as running:
        assert running.write("first") == "stored"
        beside(file, "-shm").unlink()
        assert "The -shm file of the database" in running.write("second")
    assert runs_in(file) == {"first"}


@pytest.mark.parametrize("happens", [wal_removed, both_removed])
def test_a_store_that_is_opened_meanwhile_says_the_cause_and_makes_no_second_wal(
    file: Path, happens: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sqlite_wal, "_APPEARS_WITHIN_S", 0.1)
    with dashboard(file) as running:
        assert running.write("first") == "stored"
        happens(file)
        with pytest.raises(
            StoreGone, match=r"traces.db is open in another program, but the -wal .* Stop the dashboard"
        ):
            TraceStore(f"sqlite:///{file}")
        assert not beside(file, "-wal").exists()
        assert "What was stored before is kept" in running.write("second")
    assert runs_in(file) == {"first"}


def test_a_disk_error_names_removed_files_as_a_cause(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("first", ["a-episode"]))
        with pytest.raises(CraftscopeError, match="disk I/O error.*-wal or -shm file was removed while it was open"):
            with store._database.reading():
                wal_removed(file)
                # Past the check: a connection of the pool that is opened in just this moment.
                with store._database.engine.connect() as first, store._database.engine.connect() as second:
                    for connection in (first, second):
                        connection.exec_driver_sql("SELECT count(*) FROM episodes").all()


# ------------------------------------------------------------------- closed, and opened, as usual


def test_no_alarm_while_stores_open_and_close_and_checkpoint(file: Path):
    done, problems = threading.Event(), list[BaseException]()

    def come_and_go() -> None:
        try:
            while not done.is_set():
                with TraceStore(f"sqlite:///{file}") as store:
                    store.is_empty()
        except BaseException as error:  # noqa: BLE001  handed to the test
            problems.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(12):
        running = Dashboard(file)
        assert running.write(f"run-{number}") == "stored"
        running.kill() if number % 2 else running.stop()
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(runs_in(file)) == 12


def test_no_alarm_where_the_database_is_a_link(file: Path, tmp_path: Path):
    (tmp_path / "link.db").symlink_to(file)
    with TraceStore(f"sqlite:///{tmp_path / 'link.db'}") as store:
        store.create_run(make_run("first", ["a-episode"]))
        wal_removed(file)
        with pytest.raises(StoreGone):
            store.is_empty()
    assert runs_in(tmp_path / "link.db") == {"first"}


def test_a_store_can_be_used_after_it_was_closed_and_leaves_no_files_beside(file: Path):
    store = TraceStore(f"sqlite:///{file}")
    store.create_run(make_run("first", ["a-episode"]))
    store.close()
    store.create_run(make_run("second", ["b-episode"]))
    store.close()
    assert [path.name for path in file.parent.iterdir()] == ["traces.db"]
    assert runs_in(file) == {"first", "second"}


# ------------------------------------------------------------------------- a copy that is put back


@pytest.fixture
def copy(file: Path, tmp_path: Path) -> Path:
    """A copy of the database with one run, after which a dashboard wrote much more and was killed."""
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("kept", ["kept-episode"]))
    copied = Path(shutil.copy(file, tmp_path / "copy.db"))
    with dashboard(file) as running:
        for number in range(40):
            assert running.write(f"run-{number}") == "stored"
    assert beside(file, "-wal").stat().st_size > 0
    return copied


def test_a_copy_beside_the_wal_of_a_killed_process_is_recognised_and_kept_whole(file: Path, copy: Path):
    assert len(runs_in(file)) == 41  # closed, so that what follows builds upon pages that the copy lacks
    with dashboard(file) as running:
        assert running.write("last") == "stored"
    time.sleep(0.02)  # the clock of files ticks every few milliseconds
    file.write_bytes(copy.read_bytes())
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=r"traces.db is whole, but the -wal file beside it .* move the -wal and"):
            TraceStore(f"sqlite:///{file}")
    assert file.read_bytes() == copy.read_bytes()
    both_removed(file)
    assert runs_in(file) == {"kept"}


def test_a_copy_that_replaces_a_removed_wal_under_an_open_store_is_left_whole(file: Path, copy: Path):
    running = Dashboard(file)
    assert running.write("more") == "stored"
    both_removed(file)
    time.sleep(0.02)
    file.write_bytes(copy.read_bytes())
    said = running.write("lost")
    assert "was removed while it was open" in said and "perhaps with a copy that was put back" in said
    running.stop()
    assert file.read_bytes() == copy.read_bytes()
    assert runs_in(file) == {"kept"}


def test_a_copy_with_a_wal_of_its_own_is_left_whole_by_the_store_that_closes(file: Path, copy: Path):
    with dashboard(copy) as other:
        assert other.write("newest") == "stored"
    running = Dashboard(file)
    assert running.write("more") == "stored"
    both_removed(file)
    for ending in ("", "-wal"):
        beside(file, ending).write_bytes(beside(copy, ending).read_bytes())
    assert "was replaced by another one while it was open" in running.write("lost")
    running.stop()
    assert runs_in(file) == {"kept", "newest"}


def test_a_database_after_a_kill_is_opened_even_where_it_was_touched_since(file: Path, copy: Path):
    time.sleep(0.02)
    os.utime(file)
    assert "run-39" in runs_in(file) and copy.exists()


def test_damage_says_to_move_the_files_beside_it_away(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.create_run(make_run("first", ["a-episode"]))
        record_episode(store, "a-episode", 3)
    content = file.read_bytes()
    file.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with pytest.raises(StoreCorrupt, match="stop the dashboard and the workers first, and move .* -wal and -shm files"):
        with TraceStore(f"sqlite:///{file}") as store:
            store.load_episode("a-episode")
