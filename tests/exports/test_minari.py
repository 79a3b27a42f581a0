"""Minari datasets, read by minari."""

# minari has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from pathlib import Path

import minari
import numpy as np
import pytest

from core.env import CrafterEnv
from core.errors import InvalidInput
from core.exports import episodes_of, main
from core.exports.minari import write_minari
from core.store import EpisodeFilter, TraceStore
from tests.support.launches import record_queue, run_of, short
from tests.support.records import make_run, record_episode


@pytest.fixture
def filled(sqlite_store: TraceStore) -> TraceStore:
    sqlite_store.runs.create(run_of(short(1, steps=40), short(2, "scripted", steps=40)))
    record_queue(sqlite_store)
    return sqlite_store


def test_minari_loads_the_episodes_with_their_pictures_and_recovers_the_environment(
    filled: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "datasets"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(root))
    rows = list(episodes_of(filled, EpisodeFilter()))
    assert write_minari(filled, rows, root / "crafter" / "mixed-v0") == 2
    dataset = minari.load_dataset("crafter/mixed-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (2, sum(row.n_steps for row in rows))
    env = dataset.recover_environment()
    metadata = list(dataset.storage.get_episode_metadata(range(2)))
    for row, episode, about in zip(rows, dataset.iterate_episodes(), metadata, strict=True):
        stored = filled.episodes.load(row.id)
        assert episode.rewards.tolist() == [step.env_reward for step in stored.steps]
        assert float(episode.infos["shaped_reward"].sum()) == pytest.approx(row.shaped_return)
        assert about["seed"] == row.seed
        observation, _ = env.reset(seed=about["seed"], options=about["options"])
        assert np.array_equal(observation, episode.observations[0])
        for at, action in enumerate(episode.actions):
            observation, *_ = env.step(action)
            assert np.array_equal(observation, episode.observations[at + 1])
    assert isinstance(env.unwrapped, CrafterEnv) and env.unwrapped.config == rows[0].spec.env


def test_what_minari_cannot_hold_is_refused_and_leaves_nothing(filled: TraceStore, tmp_path: Path):
    episodes = list(episodes_of(filled, EpisodeFilter()))
    for name in ("a name", "abc", "a-v1x"):
        with pytest.raises(InvalidInput, match="no name of a Minari dataset"):
            write_minari(filled, episodes, tmp_path / name)
    filled.runs.create(make_run("run-1", ["other"], minutes=9_999_999, engine_version="another"))
    record_episode(filled, "other", 3)
    before = set(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="another engine"):
        write_minari(filled, [filled.episodes.get("other")], tmp_path / "crafter-v0")
    assert set(tmp_path.iterdir()) == before


def test_the_command_writes_it(filled: TraceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_DB_URL", str(filled.url))
    assert main(["--format", "minari", "--policy", "scripted", "--out", str(tmp_path / "scripted-v3")]) == 0
    assert minari.MinariDataset(tmp_path / "scripted-v3" / "data").total_episodes == 1
