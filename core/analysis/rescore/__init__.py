"""Re-scores everything that is stored under other reward configurations, without playing again.

RewardFactsCache    the reward facts of all stored episodes, in memory
score               what every decision would have earned
compare             what that changes: ranks, pairs, advantages
"""

from __future__ import annotations

from core.analysis.rescore.comparison import (
    AdvantageChange,
    Comparison,
    RankChange,
    SwappedPair,
    Swaps,
    advantages,
    compare,
    ranks,
    swaps,
)
from core.analysis.rescore.facts_cache import RewardFactsCache, StoredFacts
from core.analysis.rescore.scoring import Scores, as_played, breakdowns, most_changed_decisions, score

__all__ = [
    "AdvantageChange",
    "Comparison",
    "RankChange",
    "RewardFactsCache",
    "Scores",
    "StoredFacts",
    "SwappedPair",
    "Swaps",
    "advantages",
    "as_played",
    "breakdowns",
    "compare",
    "ranks",
    "most_changed_decisions",
    "score",
    "swaps",
]
