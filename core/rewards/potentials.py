"""Potentials: how good a state is, as one number, for potential-based shaping.

These read only the facts, so they can reward a running episode. One that reads the map is in
`core/analysis/next_resource.py`; it can only be compared with stored episodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from core.facts import INVENTORY
from core.types import Floats, StateFacts

if TYPE_CHECKING:
    from core.facts.columns import FactColumns


_TIERS = ("wood", "stone", "iron")
_VITALS = ("health", "food", "drink", "energy")
_MAX_VITAL = 9


class Potential(ABC):
    """phi: a number for each state, higher for better states."""

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]

    @abstractmethod
    def of(self, facts: StateFacts) -> float:
        """phi of one state."""

    @abstractmethod
    def around(self, columns: FactColumns) -> tuple[Floats, Floats]:
        """phi before and after each of many decisions: two float64 (N,)."""


class AchievementsReached(Potential):
    name = "achievements"
    label = "Achievements reached"
    description = "How many of the achievements are unlocked."

    def of(self, facts: StateFacts) -> float:
        return float(sum(map(bool, facts.achievements.values())))

    def around(self, columns: FactColumns) -> tuple[Floats, Floats]:
        """As `of`, but a lost achievement would still count: Crafter never takes one away."""
        return columns.unlocked_counts()


class ToolTier(Potential):
    name = "tool_tier"
    label = "Tool tier"
    description = "Best pickaxe plus best sword in the inventory: wood 1, stone 2, iron 3 each, so 0 to 6."

    def of(self, facts: StateFacts) -> float:
        return float(
            sum(
                max(
                    tier * bool(facts.inventory.get(f"{material}_{tool}", 0)) for tier, material in enumerate(_TIERS, 1)
                )
                for tool in ("pickaxe", "sword")
            )
        )

    def around(self, columns: FactColumns) -> tuple[Floats, Floats]:
        before, after = np.zeros(columns.n_decisions), np.zeros(columns.n_decisions)
        for tool in ("pickaxe", "sword"):
            held = [columns.levels(INVENTORY, f"{material}_{tool}") for material in _TIERS]
            for phi, at in ((before, 0), (after, 1)):
                phi += np.max([tier * (level[at] > 0) for tier, level in enumerate(held, 1)], axis=0)
        return before, after


class Vitals(Potential):
    name = "vitals"
    label = "Vitals"
    description = "Health, food, drink and energy together, as a share of their maximum: 0 to 1."

    def of(self, facts: StateFacts) -> float:
        return sum(facts.inventory.get(name, 0) for name in _VITALS) / (_MAX_VITAL * len(_VITALS))

    def around(self, columns: FactColumns) -> tuple[Floats, Floats]:
        held = [columns.levels(INVENTORY, name) for name in _VITALS]
        most = _MAX_VITAL * len(_VITALS)
        before, after = (np.sum([level[at] for level in held], axis=0) / most for at in (0, 1))
        return before, after


POTENTIALS: dict[str, Potential] = {
    potential.name: potential for potential in (AchievementsReached(), ToolTier(), Vitals())
}
