"""A worker that is killed at any moment loses no acknowledged decision and corrupts nothing."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection

from core.store import TraceStore
from core.types import EpisodeStatus, Run
from tests.support.processes import forks, start
from tests.support.records import make_decisions, make_run

KILLS = 50
DECISIONS = 60


def test_no_acknowledged_decision_is_lost_in_fifty_kills(sqlite_url: str):
    draw = random.Random(20260301)
    initial, recorded = make_decisions(DECISIONS)
    kept: list[int] = []
    with TraceStore(sqlite_url) as store:
        runs: list[Run] = [make_run(f"run-{number}", [f"episode-{number}"]) for number in range(KILLS)]
        for run in runs:
            store.runs.create(run)
    for number in range(KILLS):
        acknowledged = _record_until_killed(sqlite_url, draw)
        # Opened again, as by a dashboard that starts after the crash.
        with TraceStore(sqlite_url) as store:
            with store._database.reading() as connection:
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
            assert store.queue.interrupt_stale(older_than_s=-1) == (f"episode-{number}",)
            summary, loaded = store.episodes.get(f"episode-{number}"), store.episodes.load(f"episode-{number}")
            assert summary.status is EpisodeStatus.INTERRUPTED and summary.error is not None
            assert len(loaded.decisions) >= acknowledged
            assert len(loaded.decisions) == summary.n_decisions == len(store.episodes.decisions(loaded.id))
            assert summary.shaped_return == loaded.shaped_return
            plain = [replace(d, timing=replace(d.timing, store_ms=None)) for d in loaded.decisions]
            assert plain == recorded[: len(plain)]
            assert loaded.initial == initial if plain else loaded.initial in (initial, None)
            kept.append(len(plain))
    assert len(set(kept)) > 5, "the kills came at different moments"


def _record_until_killed(url: str, draw: random.Random) -> int:
    """Start a worker, kill it at a random moment; how many decisions it had acknowledged."""
    receiver, sender = forks.Pipe(duplex=False)
    worker = start(_work, url, sender)
    sender.close()
    acknowledged = 0
    enough = draw.randrange(DECISIONS)
    while acknowledged < enough or enough == 0:
        acknowledged = receiver.recv()
        if enough == 0:
            break
    worker.join(timeout=draw.uniform(0, 0.02))
    worker.kill()
    worker.join()
    try:
        while True:
            acknowledged = receiver.recv()
    except EOFError:
        receiver.close()
    return acknowledged


def _work(url: str, acknowledge: Connection) -> None:
    with TraceStore(url) as store:
        claimed = store.queue.claim_next(worker="to be killed")
        assert claimed is not None
        recorder = store.recorder(claimed[1].id)
        initial, decisions = make_decisions(DECISIONS)
        recorder.start(datetime.now(UTC), initial)
        acknowledge.send(0)
        for decision in decisions:
            recorder.record(decision)
            acknowledge.send(decision.index + 1)
        threading.Event().wait()  # for the kill
