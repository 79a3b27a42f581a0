"""`python -m core.store`: check, back up or migrate the database that the settings name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, MetaData, delete, insert, select

from core.errors import CraftscopeError, InvalidInput, StoreReadOnly, StoreUnavailable
from core.settings import load_settings
from core.store.check import Checked, findings
from core.store.database import FILE_NAME, Database, file_url
from core.store.failures import as_store_errors, reason, sqlite_failure
from core.store.schema import head_revision, known_revision, migrate, upgrade
from core.store.sqlite_file import create_private_file, sqlite_driver
from core.text import plural, visible

_ROWS_AT_ONCE: Final = 200

_MIGRATED: Final = Path("craftscope-migrated.db")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: done, nothing found; 1: findings; 2: failed, with the reason on standard error."""
    given = _parser().parse_args(arguments)
    settings = load_settings()
    try:
        with closing(Database(settings.db_url or file_url(settings.data_dir / FILE_NAME), read_only=True)) as database:
            if given.command == "check":
                return _check(database)
            if given.command == "backup":
                return _backup(database, given.file.absolute())
            return _migrate(database, given.out.absolute())
    except CraftscopeError as error:
        sys.stderr.write(f"{visible(str(error))}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.store",
        description="Check or copy the database of CRAFTSCOPE_DATA_DIR and CRAFTSCOPE_DB_URL. It is never changed.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_command(commands, "check", "Name what is corrupt; exit code 1 if anything is.")
    backup = _add_command(commands, "backup", "Copy it into a new SQLite file; episodes may be running.")
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist")
    migrate_ = _add_command(commands, "migrate", "Copy one of an older version and bring the copy up to date.")
    migrate_.add_argument("--out", type=Path, default=_MIGRATED, metavar="FILE", help=f"default: {_MIGRATED}")
    return parser


def _add_command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=text, description=text)


def _check(database: Database) -> int:
    with database.reading() as connection:
        revision = known_revision(connection, database.place)
    if revision != head_revision():
        raise StoreReadOnly(
            f"{database.place} has the older schema {revision}. Start Craftscope once, which migrates it, or run "
            "`python -m core.store migrate` and check the copy."
        )
    checked, count = Checked(), 0
    for finding in findings(database, checked):
        print(visible(finding), flush=True)
        count += 1
    print(
        f"Checked {plural(checked.episodes, 'episode')} with {plural(checked.decisions, 'decision')}: "
        f"{plural(count, 'finding')}."
    )
    return 1 if count else 0


def _backup(database: Database, out: Path) -> int:
    copy_to(database, out)
    print(f"{database.place} was copied to {visible(str(out))} ({plural(out.stat().st_size, 'byte')}).")
    return 0


def _migrate(database: Database, out: Path) -> int:
    with database.reading() as connection:
        revision = known_revision(connection, database.place)
    if revision == head_revision():
        print(f"{database.place} is up to date (schema {revision}). Nothing was written.")
        return 0
    copy_to(database, out)
    with closing(Database(file_url(out))) as copy:
        migrate(copy)
    print(
        f"{database.place} (schema {revision}) was copied to {visible(str(out))}, and the copy migrated to schema "
        f"{head_revision()}. The original was not changed. To use the copy, set CRAFTSCOPE_DB_URL={file_url(out)}"
    )
    return 0


def copy_to(database: Database, out: Path) -> None:
    """Copy everything into a new SQLite file with the same schema, while others may go on writing.

    Raises InvalidInput for a file that exists or cannot be created, and StoreError; no file is left then.
    """
    try:
        is_new = create_private_file(str(out))
    except OSError as error:
        raise InvalidInput(f"{visible(str(out))} cannot be created ({reason(error)}). Name another file.") from error
    if not is_new:
        raise InvalidInput(f"{visible(str(out))} exists already and was not overwritten. Name another file.")
    try:
        if database.is_sqlite:
            _copy_file(database, out)
        else:
            with database.reading() as source, closing(Database(file_url(out))) as copy, copy.writing() as target:
                upgrade(target, known_revision(source, database.place))
                _copy_tables(source, target)
    except BaseException:
        for path in (out, Path(f"{out}-journal"), Path(f"{out}-wal"), Path(f"{out}-shm")):
            path.unlink(missing_ok=True)
        raise


def _copy_file(database: Database, out: Path) -> None:
    driver = sqlite_driver()
    database.check_file()
    with database.outside_transaction() as source, closing(driver.connect(str(out))) as target:
        try:
            source.backup(target)  # in one piece: in steps it would begin again whenever another process writes
        except driver.Error as error:
            raise sqlite_failure(error, database.place) or StoreUnavailable(
                f"{database.place} cannot be copied ({error}). Check the disks of both files, then try again."
            ) from error
    if database.check_file():
        raise StoreUnavailable(f"{database.place} was written while it was copied. Try again.")


def _copy_tables(source: Connection, target: Connection) -> None:
    theirs, ours = MetaData(), MetaData()
    ours.reflect(target)
    theirs.reflect(source, only=list(ours.tables))
    for table in ours.sorted_tables:
        if table.name == "alembic_version":
            continue
        target.execute(delete(table))  # migrations put first rows into some
        columns = [theirs.tables[table.name].c[column.name] for column in table.columns]
        rows = source.execute(select(*columns).execution_options(yield_per=_ROWS_AT_ONCE))
        for some in rows.mappings().partitions():
            with as_store_errors(f"The copy {target.engine.url.database}"):
                target.execute(insert(table), [dict(row) for row in some])


if __name__ == "__main__":
    sys.exit(main())
