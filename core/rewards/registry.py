"""All reward strategies. To add one, write a class in a file of its own and add it to the tuple below."""

from __future__ import annotations

from typing import Any

from core.errors import InvalidReward, did_you_mean
from core.rewards.base import Strategy
from core.rewards.consistent import Consistent
from core.rewards.environment import EnvironmentOnly
from core.rewards.per_achievement import PerAchievement
from core.rewards.potential_based import PotentialBased
from core.text import quoted

STRATEGIES: dict[str, type[Strategy[Any]]] = {
    strategy.name: strategy for strategy in (Consistent, PerAchievement, EnvironmentOnly, PotentialBased)
}


def find_strategy(name: object) -> type[Strategy[Any]]:
    """The strategy of that name or alias, ignoring case and outer spaces.

    Raises InvalidReward, which lists all accepted names, for an unknown name.
    """
    by_name = {known: strategy for strategy in STRATEGIES.values() for known in (strategy.name, *strategy.aliases)}
    wanted = name.strip().casefold() if isinstance(name, str) else ""
    if wanted not in by_name:
        accepted = "; ".join(map(_with_aliases, STRATEGIES.values()))
        hint = did_you_mean(wanted[:100], by_name) or "."
        raise InvalidReward(f"There is no reward strategy {quoted(name)}{hint} Choose one of: {accepted}.")
    return by_name[wanted]


def _with_aliases(strategy: type[Strategy[Any]]) -> str:
    return f"{strategy.name} (also {', '.join(strategy.aliases)})" if strategy.aliases else strategy.name
