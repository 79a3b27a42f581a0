"""Worker slots limit how many workers live at once on this machine, and record what each one does.

A slot is a small file `<data_dir>/workers/slot-<n>.lock`; the process that holds its `flock` is the slot's worker. The
kernel releases the lock when the process ends, however it ends. Two dashboards on one data folder share the slots. The
starter takes the lock and passes the open file to the worker, so a slot is never free in between.

The file's text is a hint, the database is the truth: it names the worker's episode, so that a death is noticed before
the heartbeat is stale. It has a fixed length and is overwritten in place, which works on a full disk. Needs POSIX.
"""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

import msgspec

from core.errors import JobError
from core.settings import Settings

RECORD_BYTES = 2048
DETAIL_CHARACTERS = 300
RESTART_PAUSE_S = 5.0  # pause after a worker failed, so that a full disk does not restart workers in a tight loop


class SlotState(StrEnum):
    FREE = "free"
    STARTING = "starting"  # until the worker claims its first episode
    WORKING = "working"
    FAILED = "failed"  # see `detail`


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """at: seconds since 1970. episode_id: the current episode, empty between two. detail: why the worker could not
    finish that episode, if it knew.
    """

    state: SlotState = SlotState.FREE
    worker: str = ""
    at: float = 0.0
    episode_id: str = ""
    detail: str = ""


class Slot:
    """A held slot. Closing releases it, unless another process has the open file."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def take(cls, path: Path) -> Slot | None:
        """None if another process holds the slot. Raises JobError."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JobError(
                f"No worker can start: {path} cannot be opened ({error.strerror}). "
                "Make the data folder writable, or choose another with CRAFTSCOPE_DATA_DIR."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(descriptor, path)

    @classmethod
    def adopt(cls, descriptor: int, path: Path) -> Slot:
        """The slot that the starter of this process took for it. Raises JobError."""
        try:
            os.set_inheritable(descriptor, False)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JobError(f"File descriptor {descriptor} holds no worker slot ({error.strerror}).") from error
        return cls(descriptor, path)

    def read(self) -> SlotRecord:
        """The last record written, maybe by a previous worker."""
        return _parse(os.pread(self.descriptor, RECORD_BYTES, 0))

    def write(self, record: SlotRecord) -> None:
        """Overwrite the record. Raises JobError."""
        short = replace(record, detail=" ".join(record.detail.split())[:DETAIL_CHARACTERS])
        try:
            os.pwrite(self.descriptor, msgspec.json.encode(short).ljust(RECORD_BYTES), 0)
        except OSError as error:
            raise JobError(f"{self.path} cannot be written ({error.strerror}).") from error

    def close(self) -> None:
        """Release the slot; may be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def slot_paths(settings: Settings) -> tuple[Path, ...]:
    """The files of all slots within `max_workers`."""
    return tuple(settings.data_dir / "workers" / f"slot-{n}.lock" for n in range(settings.max_workers))


def known_slot_paths(settings: Settings) -> tuple[Path, ...]:
    """The files of all slots ever used, also beyond a lowered `max_workers`."""
    return tuple(sorted((settings.data_dir / "workers").glob("slot-*.lock")))


def free_slots(settings: Settings) -> Iterator[Slot]:
    """Takes one free slot after another; the caller closes each. Raises JobError."""
    for path in slot_paths(settings):
        slot = Slot.take(path)
        if slot is not None:
            yield slot


def read_record(path: Path) -> SlotRecord:
    """The record of a slot without holding it; its worker may be dead."""
    try:
        with path.open("rb") as file:
            return _parse(file.read(RECORD_BYTES))
    except OSError:
        return SlotRecord()


def is_paused(record: SlotRecord) -> bool:
    """True if the slot's last worker failed or died at start less than `RESTART_PAUSE_S` ago."""
    has_failed = record.state in (SlotState.FAILED, SlotState.STARTING)
    return has_failed and 0 <= time.time() - record.at < RESTART_PAUSE_S


def worker_name(process_id: int) -> str:
    return f"process {process_id} on {platform.node() or 'this machine'}"


def process_of(worker: str) -> int | None:
    """The process id in a worker's name; None for a worker of another machine."""
    words = worker.split()
    if len(words) < 2 or not words[1].isdecimal() or worker != worker_name(int(words[1])):
        return None
    return int(words[1])


def _parse(blob: bytes) -> SlotRecord:
    try:
        return msgspec.json.decode(blob, type=SlotRecord)
    except msgspec.DecodeError:
        return SlotRecord()  # only a hint
