"""The only reader of environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from core.errors import InvalidConfig


@dataclass(frozen=True, slots=True)
class Settings:
    """What the surroundings decide.

    data_dir: where the database and the worker logs live, outside the program's own tree.
    db_url: an SQLAlchemy URL; None means the SQLite file `craftscope.db` in `data_dir`.
    max_workers: how many episodes run at once on this machine.
    """

    data_dir: Path
    db_url: str | None
    max_workers: int

    @property
    def log_dir(self) -> Path:
        """Where worker processes write their logs."""
        return self.data_dir / "logs"


def load_settings() -> Settings:
    """Read `CRAFTSCOPE_DATA_DIR`, `CRAFTSCOPE_DB_URL` and `CRAFTSCOPE_MAX_WORKERS`.

    Raises InvalidConfig where a value cannot be used.
    """
    data_home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    data_dir = os.environ.get("CRAFTSCOPE_DATA_DIR") or str(Path(data_home) / "craftscope")
    return Settings(
        data_dir=Path(data_dir).expanduser().absolute(),
        db_url=os.environ.get("CRAFTSCOPE_DB_URL") or None,
        max_workers=_max_workers(os.environ.get("CRAFTSCOPE_MAX_WORKERS")),
    )


def worker_environment(settings: Settings) -> dict[str, str]:
    """The environment for a worker process: this one's, with the settings spelled out."""
    environment = dict(os.environ)
    environment["CRAFTSCOPE_DATA_DIR"] = str(settings.data_dir)
    environment["CRAFTSCOPE_MAX_WORKERS"] = str(settings.max_workers)
    if settings.db_url is not None:
        environment["CRAFTSCOPE_DB_URL"] = settings.db_url
    return environment


def _max_workers(text: str | None) -> int:
    if not text:
        return os.cpu_count() or 1
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise InvalidConfig(
            f"CRAFTSCOPE_MAX_WORKERS is {text!r}; give a whole number of 1 or more, or leave it unset "
            "for one worker a core."
        )
    return count
