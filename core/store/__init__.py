"""The trace store: every run, episode, decision and step, in SQLite or PostgreSQL."""

from __future__ import annotations

from core.store.records import (
    COUNT_CAP,
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSummary,
    Exchange,
    ExchangeFilter,
    RunSummary,
    SavedReward,
    Totals,
)
from core.store.rows import Listing, Unreadable
from core.store.seeds import World
from core.store.store import TraceStore

__all__ = [
    "COUNT_CAP",
    "DecisionSummary",
    "EpisodeFilter",
    "EpisodePage",
    "EpisodeSummary",
    "Exchange",
    "ExchangeFilter",
    "Listing",
    "RunSummary",
    "SavedReward",
    "Totals",
    "TraceStore",
    "Unreadable",
    "World",
]
