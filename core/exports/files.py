"""Files that other programs read: seen whole or not at all, or their first lines."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import InvalidInput
from core.store.failures import reason
from core.text import visible


def write_whole(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file under another name first, so that it is never seen half written. Raises InvalidInput.

    content: bytes, or pieces that are computed while they are written; their errors pass through, and the file
    stays unchanged. Links are followed. A pipe or device is written to directly.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    with _refused(path, OSError, RuntimeError, ValueError):  # a loop of links, a NUL in the name
        target = path.resolve()
        if target.is_dir():
            raise InvalidInput(f"{target} is a folder; name a file in it, such as {target / 'episode.json'}.")
        is_special = target.exists() and not target.is_file()
    with _refused(target, OSError):
        if is_special:
            with target.open("wb") as file:
                file.writelines(pieces)
        else:
            _replace(target, pieces)


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    # Made as any program makes a file, so that the umask decides who may read it.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.writelines(pieces)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _refused(path: Path, *errors: type[Exception]) -> Generator[None]:
    try:
        yield
    except errors as error:
        raise InvalidInput(
            f"{visible(str(path))} cannot be written ({reason(error)}). Free some space, or name another file in a "
            "folder that exists and that you may write to."
        ) from error


@dataclass(frozen=True, slots=True)
class Portion:
    """How many lines were taken and their bytes. is_all: whether there was none after them."""

    lines: int
    size: int
    is_all: bool


def first_of(
    lines: Iterable[bytes], put: Callable[[bytes], object] | None = None, *, max_lines: int, max_bytes: int
) -> Portion:
    """Hand whole lines to `put`, one after another, up to a limit. Without `put` they are counted."""
    count = size = 0
    for line in lines:
        if count == max_lines or size + len(line) > max_bytes:
            return Portion(count, size, is_all=False)
        if put is not None:
            put(line)
        count, size = count + 1, size + len(line)
    return Portion(count, size, is_all=True)


@contextmanager
def new_folder(folder: Path) -> Generator[Path]:
    """A folder under another name, which gets its own at the end of the block; if the block raises, none is left.

    Raises InvalidInput for one that exists or cannot be made.
    """
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(0, "it exists already")
        unfinished.mkdir(parents=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"{visible(str(folder))} cannot be made ({why}). Name a new folder.") from error
    try:
        with _refused(folder, OSError):
            yield unfinished
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
