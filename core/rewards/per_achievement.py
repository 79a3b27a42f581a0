"""Pays each unlock by its weight, and every increase in the inventory and the achievement counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from core.facts import INVENTORY, UNLOCK, Change
from core.rewards.base import NoParams, Strategy
from core.types import Floats, RewardComponent

if TYPE_CHECKING:
    from core.facts.columns import FactColumns, Feature

DEFAULT_WEIGHT = 1.0
DEFAULT_LIMIT = 1


class PerAchievement(Strategy[NoParams]):
    """Pays unlocks by weight, up to a limit per episode, plus the resource reward. Decreases earn nothing.

    Trainers depend on it as it is, although it can be exploited: a vital that refills is an increase like any other,
    counts rise without end, and one unlock is paid as an unlock, as a count and as an inventory entry.
    """

    name = "per_achievement"
    version = 1
    aliases = ("per-achievement", "perachievement", "achievement_weighted", "complex")
    label = "Per achievement"
    description = (
        "Each unlock pays its weight (default 1.0), at most as many times per episode as its limit (default 1; 0 or "
        "less: no limit). Each increase of an inventory entry or achievement count pays the increase times its weight."
    )
    uses_tables = True

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        """Credited unlocks, then inventory rises, then count rises, each in the order of the state after."""
        yield from self._unlocks(change, credits)
        config, before, after = self.config, change.before, change.after
        yield from _rises(
            "inventory", before.inventory, after.inventory, config.inventory_weights, config.default_inventory_weight
        )
        yield from _rises(
            "achievement_count",
            before.achievement_counts,
            after.achievement_counts,
            config.achievement_count_weights,
            config.default_achievement_count_weight,
        )

    def values(self, columns: FactColumns) -> Floats:
        return columns.weighted_rises(self._weight)

    def _weight(self, feature: Feature) -> float:
        config, name = self.config, feature.name
        if feature.kind == UNLOCK:
            limit = config.k_limits.get(name, DEFAULT_LIMIT)
            # The rank is the number of earlier unlocks of this achievement; all were credited up to the limit.
            return 0.0 if 0 < limit <= feature.rank else config.weights.get(name, DEFAULT_WEIGHT)
        if feature.kind == INVENTORY:
            return config.inventory_weights.get(name, config.default_inventory_weight)
        return config.achievement_count_weights.get(name, config.default_achievement_count_weight)

    def _unlocks(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        for name in change.unlocked:
            prior = credits.get(name, 0)
            limit = self.config.k_limits.get(name, DEFAULT_LIMIT)
            if 0 < limit <= prior:
                continue
            weight = self.config.weights.get(name, DEFAULT_WEIGHT)
            yield RewardComponent("achievement", name, 1, weight, weight, count_prior=prior, count_limit=limit)


def _rises(
    kind: str, before: Mapping[str, int], after: Mapping[str, int], weights: Mapping[str, float], default: float
) -> Iterator[RewardComponent]:
    for name, amount in after.items():
        rise = amount - before.get(name, 0)
        if rise > 0:
            weight = weights.get(name, default)
            yield RewardComponent(kind, name, rise, weight, weight * rise)
