"""The strategies there are. A new one: a class in a file of its own, and its name in the tuple here."""

from __future__ import annotations

from typing import Any

from core.errors import InvalidReward, did_you_mean
from core.rewards.base import Strategy
from core.rewards.consistent import Consistent
from core.rewards.environment import EnvironmentOnly
from core.rewards.per_achievement import PerAchievement
from core.rewards.potential_based import PotentialBased

STRATEGIES: dict[str, type[Strategy[Any]]] = {
    strategy.name: strategy for strategy in (Consistent, PerAchievement, EnvironmentOnly, PotentialBased)
}


def find_strategy(name: str) -> type[Strategy[Any]]:
    """The strategy of that name or alias, without regard to case and outer spaces.

    Raises InvalidReward, with all names that are accepted, where there is none.
    """
    by_name = {known: strategy for strategy in STRATEGIES.values() for known in (strategy.name, *strategy.aliases)}
    found = by_name.get(name.strip().casefold())
    if found is None:
        accepted = "; ".join(_with_aliases(strategy) for strategy in STRATEGIES.values())
        hint = did_you_mean(name, by_name) or "."
        raise InvalidReward(f'There is no reward strategy "{name}"{hint} Choose one of: {accepted}.')
    return found


def _with_aliases(strategy: type[Strategy[Any]]) -> str:
    return f"{strategy.name} (also {', '.join(strategy.aliases)})" if strategy.aliases else strategy.name
