"""A database file that is removed or replaced while it is open: noticed, and nothing goes where nobody looks."""

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
from tests.support.records import START, make_decisions, make_run, record_episode


def removed(file: Path) -> None:
    for path in file.parent.iterdir():
        path.unlink()


def removed_with_its_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def replaced_by_another(file: Path) -> None:
    removed(file)
    with TraceStore(f"sqlite:///{file}") as other:
        other.runs.create(make_run("other", ["other-episode"]))


def replaced_by_a_copy(file: Path) -> None:
    copy = file.with_suffix(".copy")
    with closing(sqlite_driver().connect(str(file))) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    os.replace(copy, file)


def moved_away(file: Path) -> None:
    file.rename(file.parent.parent / "moved.db")


GONE: tuple[Callable[[Path], None], ...] = (removed, removed_with_its_folder, moved_away)
REPLACED: tuple[Callable[[Path], None], ...] = (replaced_by_another, replaced_by_a_copy)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the database lies: a folder of its own."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "traces.db"


@pytest.mark.parametrize("happens", GONE + REPLACED)
def test_reads_and_writes_say_that_the_file_is_gone(file: Path, happens: Callable[[Path], None]):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
        record_episode(store, "a-episode", 3)
        store.queue.claim_next(worker="test")
        recorder = store.recorder("b-episode")
        initial, decisions = make_decisions(1)
        recorder.start(START, initial)
        happens(file)
        said = "was removed while it was open" if happens in GONE else "was replaced by another file while it was open"
        attempts: tuple[Callable[[], object], ...] = (
            lambda: store.episodes.get("a-episode"),
            lambda: store.episodes.load("a-episode"),
            lambda: store.episodes.page(),
            lambda: recorder.record(decisions[0]),
            lambda: store.runs.create(make_run("run-2", ["c-episode"])),
            lambda: store.queue.heartbeat("b-episode"),
            lambda: store.episodes.delete(["a-episode"]),
        )
        for attempt in attempts:
            with pytest.raises(StoreGone, match=rf"traces.db {said}.* ([Rr]estart|[Ss]top) the dashboard"):
                attempt()


@pytest.mark.parametrize("happens", GONE)
def test_no_new_file_is_made_in_the_place_of_one_that_is_gone(file: Path, happens: Callable[[Path], None]):
    with TraceStore(f"sqlite:///{file}") as store:
        happens(file)
        store._database.engine.dispose()  # the next connection would open the name again
        for attempt in (store.episodes.is_empty, lambda: store.runs.create(make_run("run-1", ["a-episode"]))):
            with pytest.raises(StoreGone):
                attempt()
    assert not file.exists()


def test_a_write_under_way_when_the_file_goes_is_not_taken_for_stored(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        with pytest.raises(StoreGone), store._database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM episodes")
            moved_away(file)
        (file.parent.parent / "moved.db").rename(file)
        assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED


def test_nothing_is_written_into_the_file_that_was_removed(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        kept = file.parent.parent / "kept"
        kept.mkdir()
        for path in file.parent.iterdir():
            os.link(path, kept / path.name)
        before = _written(kept)
        removed(file)
        for number in range(3):
            with pytest.raises(StoreGone):
                store.runs.create(make_run(f"run-{number + 2}", [f"other-{number}"]))
        assert _written(kept) == before


def test_a_file_that_is_put_back_is_used_again(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        moved_away(file)
        with pytest.raises(StoreGone):
            store.episodes.is_empty()
        (file.parent.parent / "moved.db").rename(file)
        assert store.episodes.get("a-episode").run_id == "run-1"
        store.runs.create(make_run("run-2", ["b-episode"]))
    with TraceStore(f"sqlite:///{file}") as store:
        assert len(store.episodes.page().rows) == 2


def test_closing_a_store_whose_file_was_replaced_leaves_the_new_one_whole(file: Path):
    store = TraceStore(f"sqlite:///{file}")
    store.runs.create(make_run("run-1", ["a-episode"]))
    removed(file)
    with TraceStore(f"sqlite:///{file}") as other:
        other.runs.create(make_run("other", ["other-episode"]))
        store.close()
        other.runs.create(make_run("another", ["another-episode"]))
        assert (file.parent / "traces.db-wal").exists()
    with TraceStore(f"sqlite:///{file}") as other:
        assert {row.id for row in other.episodes.page().rows} == {"other-episode", "another-episode"}


def test_opening_again_creates_a_new_file(file: Path):
    with TraceStore(f"sqlite:///{file}") as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        removed(file)
        with TraceStore(f"sqlite:///{file}") as other:
            assert other.episodes.is_empty()


def _written(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of the last write of all files but the shared memory, which readers write too."""
    files = [path for path in folder.iterdir() if not path.name.endswith("-shm")]
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
