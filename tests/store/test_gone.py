"""A database file that is removed or replaced while it is open: noticed, and nothing is written into another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import StoreGone
from core.store import TraceStore
from core.store.sqlite_file import sqlite_driver
from core.types import EpisodeStatus
from tests.support.records import make_decisions, make_run, record_run, start_recording


def remove(file: Path) -> None:
    for path in file.parent.iterdir():
        path.unlink()


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def move_away(file: Path) -> None:
    file.rename(file.parent.parent / "moved.db")


def replace_by_another(file: Path) -> None:
    remove(file)
    with TraceStore(f"sqlite:///{file}") as other:
        other.runs.create(make_run("other", ["other-episode"]))


def replace_by_a_copy(file: Path) -> None:
    copy = file.with_suffix(".copy")
    with closing(sqlite_driver().connect(str(file))) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    os.replace(copy, file)


REMOVED: tuple[Callable[[Path], None], ...] = (remove, remove_folder, move_away)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The database file, in a folder of its own."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "traces.db"


@pytest.mark.parametrize("happens", [*REMOVED, replace_by_another, replace_by_a_copy])
def test_no_method_reads_or_writes_once_the_file_is_removed_or_replaced(file: Path, happens: Callable[[Path], None]):
    with TraceStore(f"sqlite:///{file}") as store:
        record_run(store, "a-episode", decisions=3)
        recorder = start_recording(store, "b-episode")
        happens(file)
        found = {path: path.read_bytes() for path in file.parent.glob("traces.db")}
        what = "was removed while it was open" if happens in REMOVED else "was replaced by another file while it was"
        attempts: tuple[Callable[[], object], ...] = (
            lambda: store.episodes.load("a-episode"),
            lambda: store.episodes.page(),
            lambda: recorder.record(make_decisions(1)[1][0]),
            lambda: store.runs.create(make_run("run-2", ["c-episode"])),
            lambda: store.queue.heartbeat("b-episode"),
            lambda: store.episodes.delete(["a-episode"]),
        )
        for attempt in attempts:
            with pytest.raises(StoreGone, match=rf"traces.db {what}.* ([Rr]estart|[Ss]top) the dashboard"):
                attempt()
        store._database.engine.dispose()  # the next connection opens the name again
        with pytest.raises(StoreGone):
            store.episodes.is_empty()
        assert {path: path.read_bytes() for path in file.parent.glob("traces.db")} == found


def test_a_write_in_progress_when_the_file_is_moved_is_not_committed(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        with pytest.raises(StoreGone), store._database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM episodes")
            move_away(file)
        (file.parent.parent / "moved.db").rename(file)  # put back, it is used again
        assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED
        store.runs.create(make_run("run-2", ["b-episode"]))
    with TraceStore(f"sqlite:///{file}") as store:
        assert len(store.episodes.page().rows) == 2


def test_closing_a_store_whose_file_was_replaced_leaves_the_new_file_whole(file: Path):
    store = TraceStore(f"sqlite:///{file}")
    store.runs.create(make_run("run-1", ["a-episode"]))
    remove(file)
    with TraceStore(f"sqlite:///{file}") as other:
        other.runs.create(make_run("other", ["other-episode"]))
        store.close()
        other.runs.create(make_run("another", ["another-episode"]))
        assert (file.parent / "traces.db-wal").exists()
    with TraceStore(f"sqlite:///{file}") as other:
        assert {row.id for row in other.episodes.page().rows} == {"other-episode", "another-episode"}
