"""Scores the decisions of one episode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from core.facts import Change
from core.rewards.base import Strategy, strategy_errors
from core.rewards.config import build_params, checked_reward
from core.rewards.registry import find_strategy
from core.types import Floats, RewardBreakdown, RewardComponent, RewardConfig, StateFacts

if TYPE_CHECKING:
    from core.facts.columns import FactColumns

_PLAIN: Final = (int, float)


class RewardShaper:
    """Scores decisions under one configuration and counts how often each unlock was paid.

    Each episode needs a new one. credit_counts: of the decisions of this episode that were scored before, by canonical
    name; it is copied. Raises InvalidReward for an invalid configuration.
    """

    def __init__(self, config: RewardConfig, credit_counts: Mapping[str, int] | None = None) -> None:
        self.config = checked_reward(config)
        strategy = find_strategy(self.config.strategy)
        with strategy_errors(f'The strategy "{strategy.name}" cannot be created'):
            self._strategy: Strategy[Any] = strategy(self.config, build_params(strategy, self.config.params))
        self._n_scored = 0
        self._credits = dict(credit_counts or {})

    @property
    def credit_counts(self) -> dict[str, int]:
        """Achievement -> how often its unlock was paid in this episode (a copy)."""
        return dict(self._credits)

    def base_values(self, columns: FactColumns) -> Floats | None:
        """What each decision of many whole episodes earns before lambda, float64 (N,), with fresh credit counts.

        None if the strategy scores only decision by decision. Raises InvalidReward if it fails.
        """
        n = columns.n_decisions
        if not self.config.is_active:
            return np.zeros(n)
        with strategy_errors(f'The strategy "{self.config.strategy}" failed at all {n:,} decisions at once'):
            values = self._strategy.values(columns)
            if values is not None and not (values.shape == (n,) and np.isfinite(values).all()):
                raise ValueError(f"`values` must return {n:,} finite numbers")
        return values

    def score(
        self, before: StateFacts, after: StateFacts, *, env_reward: float = 0.0, is_end: bool = False
    ) -> RewardBreakdown:
        """What the decision that led from `before` to `after` earned. Counts the unlocks that it credits.

        env_reward, is_end: as in `Change`. An inactive configuration gives an empty breakdown that pays 0.
        Raises InvalidReward, which names the strategy and the decision, if the strategy fails.
        """
        empty = RewardBreakdown(self.config.strategy, self.config.effective_lambda)
        if not self.config.is_active:
            return empty
        change = Change(_read_only(before), _read_only(after), env_reward, is_end)
        with strategy_errors(f'The strategy "{self.config.strategy}" at decision {self._n_scored} failed'):
            components = tuple(map(_plain, self._strategy.components(change, MappingProxyType(self._credits))))
            credited = tuple(component.name for component in components if component.kind == "achievement")
            breakdown = replace(
                empty, components=components, new_achievements=change.unlocked, credited_achievements=credited
            )
            if not math.isfinite(breakdown.total):
                raise ValueError(f"the decision earns {breakdown.total}")
        self._n_scored += 1
        for name in credited:
            self._credits[name] = self._credits.get(name, 0) + 1
        return breakdown


def _plain(part: RewardComponent) -> RewardComponent:
    """The component with Python numbers: numpy's cannot be stored as JSON."""
    if type(part.delta) in _PLAIN and type(part.weight) in _PLAIN and type(part.value) in _PLAIN:
        return part
    return replace(part, delta=float(part.delta), weight=float(part.weight), value=float(part.value))


def _read_only(facts: StateFacts) -> StateFacts:
    """A view for strategies: the facts are recorded afterwards, and must not be changed by them."""
    return StateFacts(
        cast(dict[str, bool], MappingProxyType(facts.achievements)),
        cast(dict[str, int], MappingProxyType(facts.inventory)),
        cast(dict[str, int], MappingProxyType(facts.achievement_counts)),
        facts.position,
    )
