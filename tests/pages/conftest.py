"""Pages are tested against a real store in a folder of their own, with real recorded episodes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

from core.env.rules import ENGINE_VERSION
from core.rollout import run_rollout
from core.settings import Settings, load_settings
from core.store import TraceStore
from core.types import (
    EpisodeSpec,
    Limits,
    PolicySpec,
    QueuedEpisode,
    RewardConfig,
    Run,
)
from tests.support import ROOT
from tests.support.launches import kill_workers


@pytest.fixture(scope="session", autouse=True)
def installed_components_are_looked_for_once() -> Iterator[None]:
    """Streamlit reads the metadata of every installed package at each AppTest, a fifth of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def data_dir(tmp_path: Path, sqlite_tables: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder that the pages use, with an empty database; the store cached by an earlier test is let go."""
    monkeypatch.setenv("CRAFTSCOPE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("CRAFTSCOPE_DB_URL", raising=False)
    monkeypatch.chdir(ROOT)
    st.cache_resource.clear()
    st.cache_data.clear()
    (tmp_path / "data").mkdir()
    shutil.copy(sqlite_tables, tmp_path / "data" / "craftscope.db")
    yield tmp_path / "data"
    kill_workers(Settings(data_dir=tmp_path / "data", db_url=None, max_workers=1))
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture(scope="session")
def recorded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one run of three finished episodes: scripted on seeds 42 and 7, random on seed 42."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAFTSCOPE_DATA_DIR", str(folder))
        patch.delenv("CRAFTSCOPE_DB_URL", raising=False)
        store = TraceStore.from_settings(load_settings())
    queued = tuple(
        QueuedEpisode(
            f"{index:x}" * 32,
            EpisodeSpec(
                seed=seed,
                policy=PolicySpec(policy),
                policy_seed=index,
                reward=RewardConfig(strategy="per_achievement"),
                limits=Limits(max_steps=60, max_decisions=60),
                engine_version=ENGINE_VERSION,
            ),
        )
        for index, (policy, seed) in enumerate([("scripted", 42), ("scripted", 7), ("random", 42)], start=1)
    )
    store.runs.create(Run("f" * 32, datetime.now(UTC), queued, name="Recorded"))
    while claimed := store.queue.claim_next(worker="tests"):
        run_id, episode = claimed
        run_rollout(
            episode.spec, episode_id=episode.id, run_id=run_id, recorder_for=lambda entry: store.recorder(entry.id)
        )
    store.close()
    return folder


@pytest.fixture
def recorded(data_dir: Path, recorded_folder: Path) -> Iterator[TraceStore]:
    """The pages' own copy of the recorded folder, as a store."""
    shutil.copytree(recorded_folder, data_dir, dirs_exist_ok=True)
    with TraceStore.from_settings(load_settings()) as store:
        yield store


@pytest.fixture(autouse=True)
def charts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No browser is here to say that a frame is painted, and charts wait for that in a window's first run."""
    monkeypatch.setattr("pages.components.episode.view.is_first_look", lambda: False)


@pytest.fixture
def empty(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        yield store
