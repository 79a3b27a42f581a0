"""Each test has a data folder of its own and leaves no worker running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import Settings
from core.slots import known_slot_paths
from core.store import TraceStore
from tests.support.launches import is_free, wait_for


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", db_url=None, max_workers=2)


@pytest.fixture
def store(settings: Settings) -> Iterator[TraceStore]:
    with TraceStore.from_settings(settings) as store:
        yield store
        for run in store.runs.newest(limit=1_000).rows:
            store.queue.request_stop(run_id=run.id)
        wait_for("every worker's end", lambda: all(map(is_free, known_slot_paths(settings))))
