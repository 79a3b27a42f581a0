"""Minari datasets, written by minari."""

# minari has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage

import core.env  # noqa: F401  registers the environment
from core import replay
from core.exports import episodes_of
from core.exports.minari import write_minari
from core.imports import Report, import_file
from core.store import EpisodeFilter, TraceStore
from tests.support.launches import record_queue, run_of, short


@pytest.fixture
def dataset(sqlite_store: TraceStore, tmp_path: Path) -> Path:
    """Our own export of two episodes."""
    sqlite_store.runs.create(run_of(short(1, steps=30), short(2, "scripted", steps=30)))
    record_queue(sqlite_store)
    write_minari(sqlite_store, episodes_of(sqlite_store, EpisodeFilter()), tmp_path / "crafter-v0")
    return tmp_path / "crafter-v0"


def imported(path: Path, tmp_path: Path) -> tuple[Report, TraceStore]:
    report, store = Report(), TraceStore(f"sqlite:///{tmp_path / 'other.db'}")
    import_file(store, path, report)
    return report, store


def test_an_exported_dataset_gives_the_same_steps_and_decisions(
    sqlite_store: TraceStore, dataset: Path, tmp_path: Path
):
    report, other = imported(dataset, tmp_path)
    import_file(other, dataset, report)
    assert (report.episodes, report.known_episodes, report.failed) == (2, 2, 0)
    by_seed = {row.seed: row.id for row in sqlite_store.episodes.page().rows}
    for row in other.episodes.page().rows:
        ours, theirs = other.episodes.load(row.id), sqlite_store.episodes.load(by_seed[row.seed])
        assert ours.steps == theirs.steps and ours.initial == theirs.initial
        assert [d.actions for d in ours.decisions] == [d.actions for d in theirs.decisions if d.actions]
        assert replay.check(ours).exact
    other.close()


def test_a_zip_file_of_the_folder_comes_in_alike_and_other_paths_in_it_are_left_out(dataset: Path, tmp_path: Path):
    path = tmp_path / "dataset.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in dataset.rglob("*"):
            archive.write(file, file.relative_to(tmp_path))
        archive.writestr("crafter-v0/data/../../../escaped.txt", "no")
        archive.writestr("/absolute.txt", "no")
    report, other = imported(path, tmp_path)
    assert (report.episodes, report.failed) == (2, 0)
    assert not list(tmp_path.rglob("escaped.txt"))
    other.close()


def change(dataset: Path, **metadata: Any) -> None:
    path = dataset / "data" / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | metadata), "utf-8")


def test_a_dataset_of_another_environment_is_refused(dataset: Path, tmp_path: Path):
    change(dataset, env_spec=gymnasium.spec("CartPole-v1").to_json())
    report, other = imported(dataset, tmp_path)
    assert "It is of the environment 'CartPole-v1'" in report.problems[0] and report.episodes == 0
    other.close()


@pytest.mark.parametrize(
    "env_spec", ["", "no JSON", "[]", '{"id": "Craftscope/Crafter-v1", "kwargs": {"area": "wide"}}']
)
def test_an_environment_that_cannot_be_made_is_refused(dataset: Path, tmp_path: Path, env_spec: str):
    change(dataset, env_spec=env_spec)
    report, other = imported(dataset, tmp_path)
    assert (report.episodes, report.failed) == (0, 1)
    other.close()


def test_rewards_of_another_engine_are_refused_and_the_other_episodes_come_in(tmp_path: Path):
    env = gymnasium.make("Craftscope/Crafter-v1")
    folder = tmp_path / "odd-v0"
    folder.mkdir()
    storage = MinariStorage.new(folder / "data", env.observation_space, env.action_space, env.spec, "arrow")
    for seed, rewards in ((1, [0.0]), (2, [7.0]), (None, [0.0])):
        observation, _ = env.reset(seed=5)
        buffer = EpisodeBuffer(
            seed=seed,
            observations=[observation] * 2,
            actions=[0],
            rewards=rewards,
            terminations=[False],
            truncations=[True],
        )
        storage.update_episodes([buffer])
    storage.update_metadata({"dataset_id": "odd-v0", "minari_version": "0.5.4"})
    report, other = imported(folder, tmp_path)
    assert (report.episodes, report.failed) == (1, 2)
    assert "Step 0 pays 7.0, and 0.0" in report.problems[0] and "no seed" in report.problems[1]
    other.close()
