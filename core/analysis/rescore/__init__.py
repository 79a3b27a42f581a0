"""Other reward configurations over what was stored: pure, and at once over everything.

`RewardFactsCache` holds the facts of all stored episodes and notices new ones; `score` gives what every decision would
have earned; `compare` says what that changes: ranks, pairs, advantages.
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
from core.analysis.rescore.facts_cache import RewardFactsCache, RewardSource, StoredFacts
from core.analysis.rescore.scoring import Scores, as_played, breakdowns, responsible, score

__all__ = [
    "AdvantageChange",
    "Comparison",
    "RankChange",
    "RewardFactsCache",
    "RewardSource",
    "Scores",
    "StoredFacts",
    "SwappedPair",
    "Swaps",
    "advantages",
    "as_played",
    "breakdowns",
    "compare",
    "ranks",
    "responsible",
    "score",
    "swaps",
]
