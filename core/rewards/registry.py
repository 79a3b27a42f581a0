"""The strategies there are. A new one: a class in a file of its own, and its name in the tuple at the end."""

from __future__ import annotations

from collections import UserDict
from typing import Any

from core.errors import InvalidReward, did_you_mean
from core.params import quoted
from core.rewards.base import Strategy
from core.rewards.consistent import Consistent
from core.rewards.declared import check_strategy, names_of
from core.rewards.environment import EnvironmentOnly
from core.rewards.limits import MOST_OF_A_NAME
from core.rewards.per_achievement import PerAchievement
from core.rewards.potential_based import PotentialBased


class Strategies(UserDict[str, type[Strategy[Any]]]):
    """By name. One that cannot be used, or whose names mean another, is refused when it is added: InvalidReward."""

    def __setitem__(self, name: str, strategy: type[Strategy[Any]]) -> None:
        check_strategy(strategy, [other for known, other in self.items() if known != name])
        if name != strategy.name:
            raise InvalidReward(
                f"The reward strategy {strategy.__qualname__} is added as {quoted(name)} and its name is "
                f'"{strategy.name}"; add it by its name.'
            )
        super().__setitem__(name, strategy)


def find_strategy(name: str) -> type[Strategy[Any]]:
    """The strategy of that name or alias, without regard to case and outer spaces.

    Raises InvalidReward, with all names that are accepted, where there is none.
    """
    by_name = {known: strategy for strategy in STRATEGIES.values() for known in names_of(strategy)}
    found = by_name.get(name.strip().casefold())
    if found is None:
        accepted = "; ".join(_with_aliases(strategy) for strategy in STRATEGIES.values())
        hint = did_you_mean(name[:MOST_OF_A_NAME], by_name) or "."
        raise InvalidReward(f'There is no reward strategy "{_short(name)}"{hint} Choose one of: {accepted}.')
    return found


def _short(name: str) -> str:
    return name if len(name) <= MOST_OF_A_NAME and name.isprintable() else quoted(name)[1:-1]


def _with_aliases(strategy: type[Strategy[Any]]) -> str:
    return f"{strategy.name} (also {', '.join(strategy.aliases)})" if strategy.aliases else strategy.name


def _registered(*strategies: type[Strategy[Any]]) -> Strategies:
    found = Strategies()
    for strategy in strategies:
        found[strategy.name] = strategy
    return found


STRATEGIES: Strategies = _registered(Consistent, PerAchievement, EnvironmentOnly, PotentialBased)
