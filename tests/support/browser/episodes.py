"""Recorded episodes for the tests of the Episode page: a short one, a long one, and a copy of that with an error."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.env.rules import ENGINE_VERSION
from core.settings import Settings
from core.store import TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from tests.support.launches import record_queue

EPISODE, LONG, TAMPERED = "a" * 32, "c" * 32, "d" * 32
WRONG = 7  # the decision of TAMPERED whose reward was changed

_SHORT_SPEC = EpisodeSpec(42, PolicySpec("scripted"), 1, limits=Limits(max_steps=60), engine_version=ENGINE_VERSION)
_LONG_SPEC = replace(_SHORT_SPEC, limits=Limits(max_steps=200), reward=RewardConfig("per_achievement"))


def record_episodes(folder: Path) -> None:
    """Record all three into a data folder."""
    with TraceStore.from_settings(Settings(folder, None, 1)) as store:
        short = (QueuedEpisode(EPISODE, _SHORT_SPEC),)
        store.runs.create(Run("b" * 32, datetime.now(UTC), short, name="A run"))
        long = (QueuedEpisode(LONG, _LONG_SPEC), QueuedEpisode(TAMPERED, _LONG_SPEC))
        store.runs.create(Run("e" * 32, datetime.now(UTC), long))
        record_queue(store)
        with store._database.writing() as connection:
            connection.exec_driver_sql(
                "UPDATE decisions SET reward = reward + 0.5 "
                f"WHERE idx = {WRONG} AND episode_id = (SELECT id FROM episodes WHERE uuid = '{TAMPERED}')"
            )
