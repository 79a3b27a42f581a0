"""Episodes for tests of statistics, written down by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from core.analysis.statistics import Sample
from core.facts import EpisodeFacts, FactsWriter, PlayedEpisode
from core.types import EnvConfig, Limits, RewardComponent, StateFacts, StopReason


def played(number: int = 0, **changes: Any) -> PlayedEpisode:
    """An episode that is over, as the store gives it."""
    fields: dict[str, Any] = {
        "id": f"episode-{number}",
        "run_id": "run",
        "policy": "scripted",
        "policy_params": {},
        "seed": number,
        "world_episode": 1,
        "group_index": 0,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
        "stop_reason": StopReason.MAX_STEPS,
        "n_steps": 100,
        "n_decisions": 50,
        "n_achievements": 2,
        "env_return": 1.9,
        "shaped_return": 3.5,
        "config_hash": "c" * 16,
        "env": EnvConfig(),
        "limits": Limits(),
        "max_actions_per_call": 5,
    }
    return PlayedEpisode(**{**fields, **changes})


def facts(unlocks: Iterable[str] = (), paid: Iterable[tuple[str, str, float]] = ()) -> EpisodeFacts:
    """One decision that unlocked these and was paid by these parts: kind, name, value."""
    names = tuple(unlocks)
    before = StateFacts(achievements=dict.fromkeys(names, False), inventory={"wood": 0})
    after = StateFacts(achievements=dict.fromkeys(names, True), inventory={"wood": 1})
    parts = [RewardComponent(kind, name, 1.0, value, value) for kind, name, value in paid]
    writer = FactsWriter()
    writer.add(before, after, names, step_end=5, components=parts)
    return writer.facts()


def sample(
    seeds: Sequence[int], unlocked: Sequence[Sequence[int]], returns: Sequence[float] = (), achievements: str = "abc"
) -> Sample:
    """unlocked: 0 and 1, a row for each episode. The shaped return is twice the environment's."""
    paid = np.array(returns or [float(sum(row)) for row in unlocked])
    return Sample(
        tuple(achievements[: len(unlocked[0])]),
        np.array(seeds, np.int64),
        np.array(unlocked, np.bool_),
        paid,
        2 * paid,
        np.full(len(seeds), 100, np.int64),
        np.zeros(len(seeds), np.bool_),
    )
