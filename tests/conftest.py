"""A store for each test: on SQLite and, with the same tests, on a real PostgreSQL server of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from core.store import TraceStore
from tests.support.postgres_server import PostgresServer, missing_programs

_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server on loopback that ends with the tests."""
    missing = missing_programs()
    if missing:
        reason = f"no PostgreSQL here: {', '.join(missing)} not found (Debian: apt-get install postgresql)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with PostgresServer.started() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of a new, empty schema in PostgreSQL, which is as good as a database and made a hundred times faster."""
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


@pytest.fixture
def store(database_url: str) -> Iterator[TraceStore]:
    """An empty store."""
    with TraceStore(database_url) as opened:
        yield opened


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[TraceStore]:
    """An empty store in an SQLite file."""
    with TraceStore(sqlite_url) as opened:
        yield opened
