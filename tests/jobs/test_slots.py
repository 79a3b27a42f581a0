"""One process holds a slot; the slot's record outlives it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import JobError
from core.settings import Settings
from core.slots import (
    DETAIL_CHARACTERS,
    RECORD_BYTES,
    RESTART_PAUSE_S,
    Slot,
    SlotRecord,
    SlotState,
    free_slots,
    is_paused,
    read_record,
)

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workers" / "slot-0.lock"


def take(path: Path) -> Slot:
    slot = Slot.take(path)
    assert slot is not None
    return slot


def test_a_held_slot_cannot_be_taken_again(path: Path):
    with take(path):
        assert Slot.take(path) is None
    with take(path):
        pass


def test_settings_allow_as_many_slots_as_workers(tmp_path: Path):
    settings = Settings(tmp_path, None, 3)
    slots = list(free_slots(settings))
    assert len(slots) == 3
    assert list(free_slots(settings)) == []
    for slot in slots:
        slot.close()


def test_a_slot_handed_to_a_process_is_held_until_that_process_is_killed(path: Path):
    with take(path) as slot:
        slot.write(SlotRecord(SlotState.WORKING, "a worker", episode_id="abc"))
        child = subprocess.Popen([sys.executable, "-c", SLEEP], pass_fds=(slot.descriptor,))
    try:
        assert Slot.take(path) is None, "the starter closed its own copy, but the child holds the slot"
    finally:
        child.kill()
        child.wait()
    with take(path) as slot:
        assert slot.read().episode_id == "abc"


def test_a_record_is_read_as_written_but_for_a_long_detail(path: Path):
    record = SlotRecord(SlotState.FAILED, "process 7 on here", 12.5, "abc", "Es ging schief: größer als möglich.")
    with take(path) as slot:
        slot.write(record)
        assert slot.read() == record == read_record(path)
        slot.write(SlotRecord(detail="\x00\n" + "😀" * 5_000))
        assert len(slot.read().detail) == DETAIL_CHARACTERS
        slot.write(SlotRecord())
        assert slot.read() == SlotRecord()
    assert path.stat().st_size == RECORD_BYTES


@pytest.mark.parametrize("blob", [b"", b"{", b"[]", b'{"state": "dancing"}', b'{"colour": 1}', b"\xff\xfe"])
def test_a_corrupt_record_is_read_as_empty(path: Path, blob: bytes):
    path.parent.mkdir()
    path.write_bytes(blob)
    with take(path) as slot:
        assert slot.read() == SlotRecord()


def test_only_a_slot_whose_worker_just_failed_pauses():
    now = time.time()
    assert is_paused(SlotRecord(SlotState.FAILED, at=now))
    assert is_paused(SlotRecord(SlotState.STARTING, at=now))
    assert not is_paused(SlotRecord(SlotState.FAILED, at=now - RESTART_PAUSE_S))
    assert not is_paused(SlotRecord(SlotState.WORKING, at=now)), "a killed worker is replaced at once"
    assert not is_paused(SlotRecord(SlotState.FREE, at=now))


def test_an_unwritable_data_folder_is_reported(tmp_path: Path):
    (tmp_path / "workers").write_text("a file where a folder should be")
    with pytest.raises(JobError, match=r"slot-0\.lock cannot be opened .* CRAFTSCOPE_DATA_DIR"):
        Slot.take(tmp_path / "workers" / "slot-0.lock")
