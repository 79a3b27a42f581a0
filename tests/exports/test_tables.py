"""Exports of many episodes: lines and Parquet, read by their own readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import crafter
import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.errors import InvalidInput
from core.exports import episodes_of, main
from core.exports.lines import document_lines, sample_lines, stats_lines
from core.exports.parquet import write_parquet
from core.imports import Report, import_file
from core.store import EpisodeFilter, TraceStore
from tests.support.launches import record_queue, run_of, short
from tests.support.records import make_run, record_episode


@pytest.fixture
def filled(sqlite_store: TraceStore) -> TraceStore:
    sqlite_store.runs.create(run_of(short(1), short(2, "scripted")))
    record_queue(sqlite_store)
    sqlite_store.runs.create(make_run("run-1", ["one"], minutes=9_999_999))
    record_episode(sqlite_store, "one", 7)
    return sqlite_store


def test_parquet_holds_what_the_store_holds(filled: TraceStore, tmp_path: Path):
    assert write_parquet(filled, episodes_of(filled, EpisodeFilter()), tmp_path / "out") == 3
    tables: list[Any] = [
        pd.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("episodes", "decisions", "components")
    ]
    episodes, decisions, components = tables
    rows = {row.id: row for row in filled.episodes.page().rows}
    assert set(episodes["episode_id"]) == rows.keys()
    by_episode = decisions.groupby("episode_id")
    assert by_episode["reward"].sum().to_dict() == pytest.approx({id_: row.shaped_return for id_, row in rows.items()})
    assert by_episode["env_reward"].sum().to_dict() == pytest.approx({id_: row.env_return for id_, row in rows.items()})
    components["paid"] = components["effective_lambda"] * components["value"]
    for id_, total in components.groupby("episode_id")["paid"].sum().to_dict().items():
        assert total == pytest.approx(rows[str(id_)].shaped_return)
    (one,) = [row for row in episodes.to_dict("records") if row["episode_id"] == "one"]
    assert (one["mode"], one["batch_id"], one["source"], one["seed"]) == ("rl", "batch-1", "service", 0)
    assert str(one["created_at"].tz) == "UTC"
    assert pq.read_metadata(tmp_path / "out" / "decisions.parquet").num_rows == len(decisions)


def test_a_folder_that_exists_is_left_alone_and_a_cut_export_leaves_none(filled: TraceStore, tmp_path: Path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInput, match="exists already"):
        write_parquet(filled, episodes_of(filled, EpisodeFilter()), tmp_path / "out")

    def broken():
        yield from filled.episodes.page().rows
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_parquet(filled, broken(), tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir() and path.name != "data"] == ["out"]


def test_lines_of_whole_episodes_can_be_imported(filled: TraceStore, tmp_path: Path):
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"".join(document_lines(filled, episodes_of(filled, EpisodeFilter()))))
    report = Report()
    with TraceStore(f"sqlite:///{tmp_path / 'other.db'}") as other:
        import_file(other, path, report)
    assert (report.episodes, report.failed) == (3, 0)


def test_samples_are_the_decisions_with_what_they_earned(filled: TraceStore):
    samples = [json.loads(line) for line in sample_lines(filled, episodes_of(filled, EpisodeFilter(), ["one"]))]
    decisions = filled.episodes.load("one").decisions
    assert [sample["r_i"] for sample in samples] == [decision.reward.total for decision in decisions]
    assert [sample["actions"] for sample in samples] == [list(decision.actions) for decision in decisions]


def test_statistics_are_those_of_crafters_recorder(filled: TraceStore, tmp_path: Path):
    recorder: Any = crafter.Recorder(  # pyright: ignore[reportAttributeAccessIssue]
        crafter.Env(area=(24, 24), length=3, seed=1),
        str(tmp_path),
        save_stats=True,
        save_video=False,
        save_episode=False,
    )
    recorder.reset()
    for _ in range(3):
        recorder.step(0)
    recorder._env._file.close()
    theirs = json.loads((tmp_path / "stats.jsonl").read_text().splitlines()[0])
    ours = [json.loads(line) for line in stats_lines(filled, episodes_of(filled, EpisodeFilter()))]
    assert all(row.keys() == theirs.keys() for row in ours)
    assert [row["length"] for row in ours] == [row.n_steps for row in filled.episodes.page().rows]


@pytest.mark.parametrize("format_", ["jsonl", "samples", "stats", "parquet", "sft"])
def test_an_export_without_a_match_says_so_and_leaves_no_file(
    filled: TraceStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    format_: str,
):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", filled.url)
    out = tmp_path / "out"
    given = ["--sft"] if format_ == "sft" else ["--format", format_]
    assert main([*given, "--seed", "99", "--out", str(out)]) == 1
    assert "Nothing was exported" in capsys.readouterr().err
    assert not out.exists()
    if format_ != "sft":
        assert main([*given, "--seed", "1", "--out", str(out)]) == 0
        assert out.exists()
