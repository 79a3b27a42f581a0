"""Episodes for tests of statistics, written down by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from core.analysis.statistics import Sample
from core.facts import EpisodeFacts, FactsWriter
from core.store import EpisodeSummary
from core.types import EpisodeSpec, PolicySpec, RewardComponent, StateFacts, StopReason


def played(
    number: int = 0, *, policy: str = "scripted", params: dict[str, Any] | None = None, **changes: Any
) -> EpisodeSummary:
    """An episode that is over, as the store gives it. changes: fields of its specification or of the summary."""
    spec = {"seed": number, "policy": PolicySpec(policy, params or {}), "policy_seed": number}
    spec |= {name: changes.pop(name) for name in EpisodeSpec.__slots__ if name in changes}
    reason = changes.setdefault("stop_reason", StopReason.MAX_STEPS)
    fields: dict[str, Any] = {
        "id": f"episode-{number}",
        "run_id": "run",
        "spec": EpisodeSpec(**spec),
        "group_index": 0,
        "status": reason.status,
        "error": None,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
        "started_at": None,
        "ended_at": None,
        "n_steps": 100,
        "n_decisions": 50,
        "env_return": 1.9,
        "shaped_return": 3.5,
        "achievements": ("collect_wood", "place_table"),
        "config_hash": "c" * 16,
        "stop_requested": False,
    }
    return EpisodeSummary(**{**fields, **changes})


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
