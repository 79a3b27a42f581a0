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
from core.settings import Settings, load_settings
from core.store import TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from tests.support import ROOT
from tests.support.launches import kill_workers, record_queue


@pytest.fixture(scope="session", autouse=True)
def scan_components_once() -> Iterator[None]:
    """Streamlit reads the metadata of every installed package at each AppTest, a fifth of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def data_dir(tmp_path: Path, sqlite_tables: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The pages' data folder with an empty database; caches of earlier tests are cleared."""
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


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued episodes stay queued: no page starts a worker for them."""
    monkeypatch.setattr("core.jobs._fill_slots", lambda store, settings: (0, []))


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
    record_queue(store)
    store.close()
    return folder


@pytest.fixture
def recorded(data_dir: Path, recorded_folder: Path) -> Iterator[TraceStore]:
    """The pages' own copy of the recorded folder, as a store."""
    shutil.copytree(recorded_folder, data_dir, dirs_exist_ok=True)
    with TraceStore.from_settings(load_settings()) as store:
        yield store


@pytest.fixture(autouse=True)
def charts_in_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a session's first run, charts wait until a browser has painted a frame; here is no browser."""
    monkeypatch.setattr("pages.components.episode.view.is_first_look", lambda: False)


@pytest.fixture
def empty(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        yield store
