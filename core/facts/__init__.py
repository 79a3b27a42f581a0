"""Reward facts: what every decision changed, as columns. Re-scoring reads nothing else.

`FactsWriter` gathers the `EpisodeFacts` of one episode; `columns.FactColumns` joins many episodes. Import it from
`columns`: it brings scipy, which recording does not need.
"""

from __future__ import annotations

from core.facts.episode import ACHIEVEMENT_COUNT, INVENTORY, UNLOCK, Change, ComponentTotal, EpisodeFacts, FactsWriter

__all__ = ["ACHIEVEMENT_COUNT", "INVENTORY", "UNLOCK", "Change", "ComponentTotal", "EpisodeFacts", "FactsWriter"]
