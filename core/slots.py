"""Worker slots: how many workers may live at once on this machine, and who they are.

A slot is a small file `<data_dir>/workers/slot-<n>.lock`. Whoever holds its `flock` is the worker of that slot, so
the kernel itself says who is alive: a lock ends with its process, however that ends, and is never mistaken for
another process that got the same number. Two dashboards on one data folder share the slots, so together they start no
more workers than one would. The starter takes the lock and hands the open file on to the worker it starts; there is
no moment in which a slot is promised but not held.

The file's text is a hint beside the database, never the truth: which episode its worker is at, so that a death is
noticed at once and not only when the heartbeat grows stale. It has a fixed length and is overwritten in place, which
works on a full disk too. Needs POSIX (`fcntl`).
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from core.errors import JobError
from core.settings import Settings

RECORD_BYTES = 2048
DETAIL_CHARACTERS = 300
REST_S = 5.0  # a slot whose worker broke stays empty this long, so that a full disk does not make workers spin


class SlotState(StrEnum):
    """What the worker of a slot is at."""

    FREE = "free"
    STARTING = "starting"  # from before its process exists until it asks for its first episode
    WORKING = "working"
    FAILED = "failed"  # it broke; `detail` says how


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """Who has a slot, since when (seconds since 1970) and what with.

    episode_id: the episode it is at, empty between two.
    detail: the sentence for that episode, where its worker knew why it would not finish it.
    """

    state: SlotState = SlotState.FREE
    worker: str = ""
    at: float = 0.0
    episode_id: str = ""
    detail: str = ""


class Slot:
    """A slot that is held. Closing gives it back, unless another process got the open file."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    @classmethod
    def take(cls, path: Path) -> Slot | None:
        """Hold the slot of this file; None where another process holds it. Raises JobError."""
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
        """The slot that the starter of this process took for it. Raises JobError where it is no open slot."""
        try:
            os.set_inheritable(descriptor, False)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JobError(f"File descriptor {descriptor} holds no worker slot ({error.strerror}).") from error
        return cls(descriptor, path)

    @property
    def descriptor(self) -> int:
        """The open file, to be handed to a worker."""
        return self._descriptor

    def read(self) -> SlotRecord:
        """The record of this slot, or of the worker that had it before."""
        return _parse(os.pread(self._descriptor, RECORD_BYTES, 0))

    def write(self, record: SlotRecord) -> None:
        """Overwrite the record. Raises JobError."""
        short = replace(record, detail=" ".join(record.detail.split())[:DETAIL_CHARACTERS])
        text = json.dumps(asdict(short), ensure_ascii=False).encode()
        try:
            os.pwrite(self._descriptor, text.ljust(RECORD_BYTES), 0)
        except OSError as error:
            raise JobError(f"{self.path} cannot be written ({error.strerror}).") from error

    def close(self) -> None:
        """Give it back; harmless when done twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def slot_paths(settings: Settings) -> tuple[Path, ...]:
    """The files of all slots that these settings allow."""
    return tuple(settings.data_dir / "workers" / f"slot-{n}.lock" for n in range(settings.max_workers))


def known_slot_paths(settings: Settings) -> tuple[Path, ...]:
    """The files of all slots that were ever used, those beyond a lowered `max_workers` too."""
    return tuple(sorted((settings.data_dir / "workers").glob("slot-*.lock")))


def free_slots(settings: Settings) -> Iterator[Slot]:
    """Take one free slot after the other; each must be closed by who gets it. Raises JobError."""
    for path in slot_paths(settings):
        slot = Slot.take(path)
        if slot is not None:
            yield slot


def read_record(path: Path) -> SlotRecord:
    """The record in a slot's file without holding the slot; it may be a dead worker's."""
    try:
        with path.open("rb") as file:
            return _parse(file.read(RECORD_BYTES))
    except OSError:
        return SlotRecord()


def is_resting(record: SlotRecord) -> bool:
    """True for a free slot whose last worker broke, or died before it came to work, a moment ago."""
    broke = record.state in (SlotState.FAILED, SlotState.STARTING)
    return broke and 0 <= time.time() - record.at < REST_S


def worker_name(process_id: int) -> str:
    """How a worker is called wherever it is mentioned: its process and machine."""
    return f"process {process_id} on {platform.node() or 'this machine'}"


def _parse(blob: bytes) -> SlotRecord:
    try:
        fields = json.loads(blob)
        return SlotRecord(
            state=SlotState(fields["state"]),
            worker=str(fields["worker"]),
            at=float(fields["at"]),
            episode_id=str(fields["episode_id"]),
            detail=str(fields["detail"]),
        )
    except (ValueError, TypeError, KeyError):
        return SlotRecord()  # a hint only: one that is not there or cannot be read tells nothing
