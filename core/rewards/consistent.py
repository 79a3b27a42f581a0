"""One point for a decision that unlocked something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.facts import Change
from core.rewards.base import NoParams, Strategy
from core.types import Floats, RewardComponent

if TYPE_CHECKING:
    from core.facts.columns import FactColumns


class Consistent(Strategy[NoParams]):
    """Pays 1.0 if at least one achievement was unlocked, however many, else nothing."""

    name = "consistent"
    version = 1
    aliases = ("simple", "consistent_stepwise", "decision_consistent")
    label = "Consistent"
    description = "1.0 for a decision that unlocks at least one achievement, else 0. Weights and limits do not count."

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        if change.unlocked:
            yield RewardComponent("indicator", "any_achievement", delta=1, weight=1.0, value=1.0)

    def values(self, columns: FactColumns) -> Floats:
        return np.minimum(columns.unlocks, 1.0)
