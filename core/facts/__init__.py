"""Reward facts: what every decision changed, as columns. Re-scoring looks at nothing else.

`EpisodeFacts` are those of one episode, gathered by `FactsWriter`; `columns.FactColumns` join many episodes, and are
imported from there: they bring scipy, which whoever only records has no use for.
"""

from __future__ import annotations

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
    "EpisodeFacts",
    "FactsWriter",
    "PlayedEpisode",
]
