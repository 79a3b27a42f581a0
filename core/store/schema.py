"""Create or migrate the schema.

A migration is one transaction under the database's write lock: of processes that start at once, one migrates and the
others wait; a process that dies leaves no half-migrated schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from core.errors import StoreCorrupt, StoreReadOnly, StoreTooNew
from core.store.database import Database
from core.store.tables import store_meta

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_POSTGRES_LOCK: Final = 0x63726166  # an arbitrary constant


def alembic_config() -> Config:
    """Alembic's configuration for the migrations beside this file."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def migrate(database: Database) -> None:
    """Create or upgrade the schema. Raises StoreTooNew, StoreCorrupt, StoreUnavailable; nothing is changed then.

    Raises StoreReadOnly for a database of an older schema that cannot be written.
    """
    head = head_revision()
    with database.reading() as connection:
        revision = revision_of(connection, database.place)
        if revision == head:
            return
        if revision is not None:
            known_revision(connection, database.place)
    if database.read_only_reason and revision is None:
        raise StoreReadOnly(f"{database.place} is empty. {database.read_only_reason}")
    if database.read_only_reason:
        raise StoreReadOnly(
            f"{database.place} has the older schema {revision} (this version needs {head}) and cannot be changed here. "
            "Run `python -m core.store migrate`: it copies the database and migrates the copy."
        )
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRES_LOCK})
        if revision_of(connection, database.place) != head:  # another process may have been faster
            upgrade(connection, "head")


def head_revision() -> str:
    """The newest schema, which this program uses."""
    return str(ScriptDirectory.from_config(alembic_config()).get_current_head())


def known_revision(connection: Connection, place: str) -> str:
    """The schema's revision. Raises StoreCorrupt for an empty database, and StoreTooNew."""
    revision = revision_of(connection, place)
    if revision is None:
        raise StoreCorrupt(f"{place} is empty. Check CRAFTSCOPE_DATA_DIR and CRAFTSCOPE_DB_URL.")
    script = ScriptDirectory.from_config(alembic_config())
    if revision not in {known.revision for known in script.walk_revisions()}:
        raise StoreTooNew(
            f"{place} was written by a newer Craftscope (its schema is {revision!r}, this version knows those up to "
            f"{head_revision()!r}). Update Craftscope, or choose another data folder with CRAFTSCOPE_DATA_DIR. "
            "Nothing in it was changed."
        )
    return revision


def upgrade(connection: Connection, revision: str) -> None:
    """Run the migrations up to that one."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def revision_of(connection: Connection, place: str) -> str | None:
    """The schema's revision; None for an empty database."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    if store_meta.name not in tables:
        raise StoreCorrupt(
            f"{place} holds other tables and is not Craftscope's. Nothing in it was changed. "
            "Give Craftscope a database of its own with CRAFTSCOPE_DB_URL."
        )
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is None:
        raise StoreCorrupt(
            f"{place} has no schema revision: its table alembic_version is missing or empty. "
            "Nothing in it was changed. Restore a backup."
        )
    return revision
