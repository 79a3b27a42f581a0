"""Our own exported episodes come back equal, whole and once."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.exports import episode_json
from core.imports import Report, import_file
from core.store import TraceStore
from core.types import Episode, RunSource
from tests.support.launches import record_queue, run_of, short
from tests.support.records import make_run, record_episode


@pytest.fixture
def target(tmp_path: Path) -> TraceStore:
    return TraceStore(f"sqlite:///{tmp_path / 'target.db'}")


def imported(store: TraceStore, path: Path) -> Report:
    report = Report()
    import_file(store, path, report)
    return report


def without_store_ms(episode: Episode) -> Episode:
    """`store_ms` of the last decision is written with the end, which an import writes once more."""
    return replace(
        episode,
        decisions=tuple(replace(d, timing=replace(d.timing, store_ms=None)) for d in episode.decisions),
    )


def test_an_exported_episode_comes_back_equal(sqlite_store: TraceStore, target: TraceStore, tmp_path: Path):
    sqlite_store.runs.create(make_run("run-1", ["one"]))
    record_episode(sqlite_store, "one", 12)
    path = tmp_path / "one.json"
    path.write_bytes(episode_json(sqlite_store, "one"))
    report = imported(target, path)
    assert report.sentence == ("1 episode with 12 decisions came in; 0 episodes with 0 decisions were there already.")
    assert target.episodes.load("one") == sqlite_store.episodes.load("one")
    ours, theirs = target.episodes.get("one"), sqlite_store.episodes.get("one")
    assert replace(ours, created_at=theirs.created_at) == theirs
    run = target.runs.get("run-1")
    assert (run.source, run.mode, run.batch_id) == (RunSource.IMPORTED, "rl", "batch-1")
    again = json.loads(episode_json(target, "one"))
    first = json.loads(path.read_text("utf-8"))
    assert again["decisions"] == first["decisions"] and again["initial"] == first["initial"]


def test_played_episodes_come_back_from_lines_and_zip_files_and_only_once(
    sqlite_store: TraceStore, target: TraceStore, tmp_path: Path
):
    run = run_of(short(1), short(2, "scripted"), short(3))
    sqlite_store.runs.create(run)
    record_queue(sqlite_store)
    documents = [episode_json(sqlite_store, queued.id) for queued in run.episodes]
    lines = tmp_path / "all.jsonl"
    lines.write_bytes(b"\n".join(documents) + b"\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for at, document in enumerate(documents):
            archive.writestr(f"../../etc/{at}.json", document)
        archive.writestr("readme.txt", "no episode")
    assert imported(target, lines).episodes == 3
    report = imported(target, tmp_path / "all.zip")
    assert (report.episodes, report.known_episodes, report.failed) == (0, 3, 0)
    for queued in run.episodes:
        assert target.episodes.load(queued.id) == sqlite_store.episodes.load(queued.id)
    assert target.runs.get(run.id).n_episodes == 3


def damage(change: Callable[[Any], None]) -> Callable[[Any], Any]:
    def changed(document: Any) -> Any:
        change(document)
        return document

    return changed


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (damage(lambda d: d.update(version=99)), "version 99"),
        (damage(lambda d: d["decisions"].pop(0)), "Decision 0 has the index 1"),
        (damage(lambda d: d["episode"].update(status="running", ended_at=None)), "while it was running"),
        (damage(lambda d: d["episode"].update(id="")), "id of its episode"),
        (damage(lambda d: d["decisions"][0]["steps"][0].update(action="fly")), "'fly'"),
        (damage(lambda d: d["initial"]["scene"].update(grid=[99, 9])), "63 cells"),
        (damage(lambda d: d["initial"]["facts"]["inventory"].update(wood=2**60)), "out of range"),
        (damage(lambda d: d["episode"].update(created_at="soon")), "not an exported episode"),
        (lambda d: [d], "not an exported episode"),
    ],
)
def test_what_does_not_hold_together_is_named_and_leaves_nothing(
    sqlite_store: TraceStore, target: TraceStore, tmp_path: Path, change: Callable[[Any], Any], why: str
):
    run = run_of(short(1))
    sqlite_store.runs.create(run)
    record_queue(sqlite_store)
    good = episode_json(sqlite_store, run.episodes[0].id)
    bad = json.dumps(change(json.loads(good))).encode()
    path = tmp_path / "two.jsonl"
    path.write_bytes(bad + b"\n" + good)
    report = imported(target, path)
    assert (report.episodes, report.failed) == (1, 1)
    assert why in report.problems[0] and "line 1" in report.problems[0]
    assert len(target.episodes.page().rows) == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"[" * 50_000, b"\x80\x04pickle", b"{}"])
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.zip"])
def test_other_files_are_refused(target: TraceStore, tmp_path: Path, content: bytes, name: str):
    path = tmp_path / name
    path.write_bytes(content)
    report = imported(target, path)
    assert report.episodes == 0
    assert report.failed == (0 if (content, name) == (b"", "x.jsonl") else 1)


def test_the_command_says_what_came_in(sqlite_store: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = run_of(short(1))
    sqlite_store.runs.create(run)
    record_queue(sqlite_store)
    (tmp_path / "one.json").write_bytes(episode_json(sqlite_store, run.episodes[0].id))
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path / "data"))
    command = [sys.executable, "-m", "core.imports", str(tmp_path / "one.json"), str(tmp_path / "missing.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)
    assert done.returncode == 1
    assert done.stdout.endswith("were there already; 1 episode could not be read.\n")
    assert "missing.json" in done.stderr


def test_a_damaged_zip_file_is_reported(sqlite_store: TraceStore, tmp_path: Path):
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("episode.json", '{"format": 1}' * 5_000)
    content = bytearray(path.read_bytes())
    content[50:70] = bytes(255 - byte for byte in content[50:70])
    path.write_bytes(content)
    report = Report()
    import_file(sqlite_store, path, report)
    assert (report.episodes, report.failed) == (0, 1)


def test_a_time_that_no_database_holds_is_refused(sqlite_store: TraceStore, tmp_path: Path):
    sqlite_store.runs.create(make_run("run-1", ["one"]))
    record_episode(sqlite_store, "one", 3)
    document = json.loads(episode_json(sqlite_store, "one"))
    document["episode"]["id"] = "other"
    document["episode"]["created_at"] = "0001-01-01T00:00:00+14:00"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document), "utf-8")
    report = Report()
    import_file(sqlite_store, path, report)
    assert report.episodes == 0 and "a time of the year 1" in report.problems[0]
    assert [row.id for row in sqlite_store.episodes.page().rows] == ["one"]
