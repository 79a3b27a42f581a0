"""The trace store: every run, episode, decision and step, in SQLite or PostgreSQL."""

from __future__ import annotations

from core.store.recorder import EpisodeRecorder
from core.store.records import (
    Cursor,
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSummary,
    Exchange,
    RunSummary,
    SavedReward,
    Totals,
)
from core.store.rows import Listing, Unreadable
from core.store.seeds import World
from core.store.store import TraceStore

__all__ = [
    "Cursor",
    "DecisionSummary",
    "EpisodeFilter",
    "EpisodePage",
    "EpisodeRecorder",
    "EpisodeSummary",
    "Exchange",
    "Listing",
    "RunSummary",
    "SavedReward",
    "Totals",
    "TraceStore",
    "Unreadable",
    "World",
]
