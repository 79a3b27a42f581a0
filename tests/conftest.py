"""What every test shares: databases on SQLite and on a real PostgreSQL server, the order of files, and what is skipped.

A skipped test must not look like a passed one: each reason and its remedy stand at the end of the run, and under CI a
skipped test fails.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from xdist.scheduler import LoadFileScheduling

from core.store import TraceStore
from tests.support.postgres_server import PostgresServer, missing_programs

_numbers = count()
_SLOWEST_FIRST = (  # or one worker plays on alone
    *("tests/browser/", "tests/jobs/", "tests/pages/", "tests/store/"),
    *("tests/analysis/", "tests/exports/", "tests/test_skipped_tests.py"),
)


# ------------------------------------------------------------------------------------ one run on several cores


class BrowserOnOneWorker(LoadFileScheduling):
    """A file is a unit of work, as with `--dist loadfile`, and all files that drive the browser together are one.

    Two browsers at once are slow enough to miss their time limits. (`--dist loadgroup` cannot do this with pytest 9:
    pytest-xdist 3.8 writes the group into an attribute of tests that pytest does not read any more.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BrowserOnOneWorker | None:
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # in the order of pytest_collection_modifyitems
    return BrowserOnOneWorker(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        starts = (item.nodeid.startswith(folder) for folder in _SLOWEST_FIRST)
        return next((number for number, here in enumerate(starts) if here), len(_SLOWEST_FIRST))

    items.sort(key=place)


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Restore the main module: Streamlit's AppTest leaves its own script there, and child processes would run it."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


# ------------------------------------------------------------------------------------ what is skipped


def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("not_as_root")
    if mark and os.geteuid() == 0:
        pytest.skip(mark.args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and _is_ci() and not item.get_closest_marker("not_as_root"):
        report.outcome = "failed"
        report.longrepr = f"Skipped, which counts as failed under CI: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if config.option.markexpr == "not real_model and not ray and not synth_client and not deploy and not trainers":
        reasons["The tests of a real model are run by: make real-model"] = 0
        reasons["The test on a Ray cluster is run by: make ray"] = 0
        reasons["The test with synth-ai's client is run by: make synth-client"] = 0
        reasons["The tests of the examples with trainers are run by: make trainers"] = 0
        reasons["The test of a deployment on a clean Debian is run by: make deploy"] = 0
    if reasons:
        terminalreporter.section("what was not run")
    for reason, times in reasons.items():
        terminalreporter.line(f"{reason} ({times} skipped)" if times else reason)


def _is_ci() -> bool:
    return os.environ.get("CI") == "true"


def _reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


# ------------------------------------------------------------------------------------ databases


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server on loopback that ends with the tests."""
    if missing := missing_programs():
        pytest.skip(f"PostgreSQL's {' and '.join(missing)} not found. On Debian: apt-get install postgresql")
    with PostgresServer.started() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of a new, empty schema in PostgreSQL: as good as a database, and created a hundred times faster."""
    name = f"test_{next(_numbers)}"
    engine = create_engine(postgres.url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{postgres.url}?options=-csearch_path%3D{name}"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'traces.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with all tables and no row: to copy it takes a fifth of the time of creating the tables."""
    file = tmp_path_factory.mktemp("tables") / "traces.db"
    TraceStore(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def sqlite_store(tmp_path: Path, sqlite_url: str, sqlite_tables: Path) -> Iterator[TraceStore]:
    """An empty store in an SQLite file."""
    shutil.copy(sqlite_tables, tmp_path / "traces.db")
    with TraceStore(sqlite_url) as opened:
        yield opened


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[TraceStore]:
    """An empty store in PostgreSQL."""
    with TraceStore(postgres_url) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> TraceStore:
    """An empty store of each kind."""
    return request.getfixturevalue("sqlite_store" if request.param == "sqlite" else "postgres_store")
