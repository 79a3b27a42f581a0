"""Reward facts: what every decision changed, as columns. Re-scoring looks at nothing else.

`EpisodeFacts` are those of one episode, gathered by `FactsWriter`; `FactColumns` join many episodes.
"""

from __future__ import annotations

from core.facts.columns import DecisionChange, FactColumns, Feature
from core.facts.episode import (
    ACHIEVEMENT_COUNT,
    INVENTORY,
    UNLOCK,
    ComponentTotal,
    EpisodeFacts,
    FactsWriter,
)
from core.facts.played import PlayedEpisode

__all__ = [
    "ACHIEVEMENT_COUNT",
    "INVENTORY",
    "UNLOCK",
    "ComponentTotal",
    "DecisionChange",
    "EpisodeFacts",
    "FactColumns",
    "FactsWriter",
    "Feature",
    "PlayedEpisode",
]
