"""The only reader of environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
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
    db_url: str | None = field(repr=False)  # it may hold a password
    max_workers: int

    @property
    def log_dir(self) -> Path:
        """Where worker processes write their logs."""
        return self.data_dir / "logs"


def load_settings() -> Settings:
    """Read `CRAFTSCOPE_DATA_DIR`, `CRAFTSCOPE_DB_URL` and `CRAFTSCOPE_MAX_WORKERS`.

    Raises InvalidConfig where a value cannot be used.
    """
    return Settings(
        data_dir=_data_dir(os.environ.get("CRAFTSCOPE_DATA_DIR")),
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


def secret(name: str) -> str:
    """The key that the environment variable `name` holds; empty where it is not set."""
    return os.environ.get(name, "").strip()


def model_hosts() -> tuple[str, ...]:
    """The hosts that may be asked for a model, from `CRAFTSCOPE_MODEL_HOSTS` (commas between); none means any."""
    return tuple(filter(None, (name.strip() for name in os.environ.get("CRAFTSCOPE_MODEL_HOSTS", "").split(","))))


def _data_dir(text: str | None) -> Path:
    if text is None:
        return _data_home() / "craftscope"
    if not text.strip():
        raise InvalidConfig(
            "CRAFTSCOPE_DATA_DIR is set and empty; give the whole path of a folder, or unset it for "
            "~/.local/share/craftscope."
        )
    try:
        folder = Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, and there is no such user to take the home of; give the whole path of a "
            "folder."
        ) from error
    if not folder.is_absolute():
        # It would mean another folder, and seemingly lost episodes, wherever the program is started next.
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, a path that depends on the current folder; give the whole path, such as "
            f"{ascii(str(folder.absolute()))[1:-1]}."
        )
    if "\0" in text or not _is_utf_8(text):
        raise InvalidConfig(
            f"CRAFTSCOPE_DATA_DIR is {text!a}, which has a NUL or bytes that are not UTF-8 in it; SQLite cannot "
            "open files there, so give another folder."
        )
    return folder


def _data_home() -> Path:
    given = os.environ.get("XDG_DATA_HOME", "")
    if Path(given).is_absolute() and _is_utf_8(given):  # its specification: anything else is to be ignored
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InvalidConfig(
            "Your home folder is not known here, so the data folder is not either; set CRAFTSCOPE_DATA_DIR to the "
            "whole path of a folder."
        ) from error
    if not home.is_absolute() or not _is_utf_8(str(home)):
        raise InvalidConfig(
            f"HOME is {str(home)!a}, which is no whole path in UTF-8; set CRAFTSCOPE_DATA_DIR to the whole path of a "
            "folder."
        )
    return home / ".local" / "share"


def _is_utf_8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a name in other bytes arrives with half surrogates in their place
        return False
    return True


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
