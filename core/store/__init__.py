"""The trace store: every run, episode, decision and step, in SQLite or PostgreSQL."""

from __future__ import annotations

from core.store.packs import RewardFacts
from core.store.records import (
    COUNT_CAP,
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSummary,
    Exchange,
    ExchangeFilter,
    RunSummary,
    Totals,
)
from core.store.store import TraceStore

__all__ = [
    "COUNT_CAP",
    "DecisionSummary",
    "EpisodeFilter",
    "EpisodePage",
    "EpisodeSummary",
    "Exchange",
    "ExchangeFilter",
    "RewardFacts",
    "RunSummary",
    "Totals",
    "TraceStore",
]
