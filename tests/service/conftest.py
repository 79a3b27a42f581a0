from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.settings import Settings
from tests.support.launches import kill_workers
from tests.support.service import RunningService


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One service for the tests of a module."""
    data_dir = tmp_path_factory.mktemp("service")
    with RunningService(data_dir, CRAFTER_AREA="32,32") as running:
        yield running
    kill_workers(Settings(data_dir=data_dir, db_url=None, max_workers=2))
