"""`python -m core.store`: check, back up or migrate the database that the settings name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from core.errors import CraftscopeError, StoreReadOnly
from core.settings import load_settings
from core.store.check import Checked, findings
from core.store.copies import copy_to
from core.store.database import FILE_NAME, Database
from core.store.schema import head_revision, known_revision, migrate
from core.store.urls import file_url, printable
from core.text import plural, visible

_MIGRATED: Final = Path("craftscope-migrated.db")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: done, nothing found; 1: findings; 2: could not be done, for the reason on standard error."""
    given = _parser().parse_args(arguments)
    settings = load_settings()
    try:
        with closing(Database(settings.db_url or file_url(settings.data_dir / FILE_NAME), only_reads=True)) as database:
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
        description="Care for the database that CRAFTSCOPE_DATA_DIR and CRAFTSCOPE_DB_URL name. It is never changed.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="name what is corrupt; exit code 1 if anything is")
    backup = commands.add_parser("backup", help="copy it into a new SQLite file, while episodes run if need be")
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist")
    migrate_ = commands.add_parser("migrate", help="copy one of an older version and bring the copy up to date")
    migrate_.add_argument("--out", type=Path, default=_MIGRATED, metavar="FILE", help=f"default: {_MIGRATED}")
    return parser


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
    print(f"Copied {_lower(database.place)} to {printable(str(out))} ({plural(out.stat().st_size, 'byte')}).")
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
        f"Copied {_lower(database.place)} (schema {revision}) to {printable(str(out))} and migrated the copy to schema "
        f"{head_revision()}. The original was not changed. To use the copy, set CRAFTSCOPE_DB_URL={file_url(out)}"
    )
    return 0


def _lower(place: str) -> str:
    return place[0].lower() + place[1:]


if __name__ == "__main__":
    sys.exit(main())
