"""Scoring the decisions of one episode."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from core.rewards.base import Change
from core.rewards.guard import made, paid_components, paid_values
from core.rewards.parameters import read_params
from core.rewards.registry import find_strategy
from core.rewards.validation import check_env_reward, check_facts, checked, checked_credit_counts
from core.types import RewardBreakdown, RewardConfig, StateFacts

if TYPE_CHECKING:  # it brings scipy, which no worker needs
    from core.facts.columns import FactColumns


class RewardShaper:
    """Scores decisions under one configuration and counts how often each unlock was paid.

    One shaper belongs to one episode: a new world starts with a new one. `credit_counts` continues an episode that
    was scored before; it is copied. Raises InvalidReward where the configuration or the counts cannot be used.
    """

    def __init__(self, config: RewardConfig, credit_counts: Mapping[str, int] | None = None) -> None:
        self.config = checked(config)
        strategy = find_strategy(self.config.strategy)
        params = read_params(strategy, self.config.params)
        self._strategy = made(strategy, deepcopy(self.config), params)  # a copy: its tables can be changed
        self._n_scored = 0
        self._credits = checked_credit_counts(credit_counts or {})

    @property
    def credit_counts(self) -> dict[str, int]:
        """Achievement name -> how often its unlock was paid in this episode (a copy)."""
        return dict(self._credits)

    def base_values(self, columns: FactColumns) -> NDArray[np.float64] | None:
        """What every decision of many whole episodes earns before lambda, float64 (N,), with fresh credit counts.

        None where the strategy scores only decision by decision. Raises InvalidReward where the strategy fails or
        returns something else.
        """
        if not self.config.is_active:
            return np.zeros(columns.n_decisions)
        return paid_values(self._strategy, columns)

    def score(
        self, before: StateFacts, after: StateFacts, *, env_reward: float = 0.0, is_end: bool = False
    ) -> RewardBreakdown:
        """What the decision that led from `before` to `after` earned. Counts the unlocks that it credits.

        env_reward: what the environment paid for its steps; is_end: the world is over after it, or a counted cap
        reached. Few strategies look at these two. A configuration that is disabled or of another mode gives an empty
        breakdown that pays 0. Raises InvalidInput for facts that are none, and for what are no numbers of a sensible
        size; InvalidReward, with the strategy and the decision, where the strategy fails or yields no rewards.
        """
        check_facts(before)
        check_facts(after)
        check_env_reward(env_reward)
        decision = self._n_scored
        self._n_scored += 1
        effective_lambda = self.config.effective_lambda
        if not self.config.is_active:
            return RewardBreakdown(self.config.strategy, effective_lambda)
        change = Change(_read_only(before), _read_only(after), env_reward, is_end)
        unlocked = change.unlocked
        components = paid_components(self._strategy, change, MappingProxyType(self._credits), decision)
        credited = tuple(component.name for component in components if component.kind == "achievement")
        for name in credited:
            self._credits[name] = self._credits.get(name, 0) + 1
        return RewardBreakdown(self.config.strategy, effective_lambda, components, unlocked, credited)


def _read_only(facts: StateFacts) -> StateFacts:
    """The same to look at: what strategies are given is the trace itself."""
    return StateFacts(
        cast(dict[str, bool], MappingProxyType(facts.achievements)),
        cast(dict[str, int], MappingProxyType(facts.inventory)),
        cast(dict[str, int], MappingProxyType(facts.achievement_counts)),
        facts.position,
    )
