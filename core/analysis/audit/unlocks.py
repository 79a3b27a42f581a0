"""What of a decision's pay is for its unlocks themselves, and what it was paid for beside them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from core.analysis.audit.crafter import UNLOCKS
from core.types import Decision, RewardComponent

_REPEATABLE = ("inventory", "achievement_count")  # kinds that pay for the same thing again


def brought(part: RewardComponent, unlock: str) -> float:
    """How much of a component's rise an unlock brings: itself once, and what it puts into the inventory."""
    return 1 if part.name == unlock else UNLOCKS.get(unlock, {}).get(part.name, 0)


def own_share(part: RewardComponent, amount: float) -> float:
    """The share of a component, 0 to 1, that `amount` of its rise stands for; the rest came by something else."""
    return min(1.0, amount / part.delta) if part.delta > 0 else 0.0


def paid_beside(decision: Decision) -> Iterator[tuple[str, str, float]]:
    """(kind, name, pay) of each component, without what was paid for unlocks; as it is where nothing was unlocked."""
    reward = decision.reward
    for part in reward.components:
        yield part.kind, part.name, reward.effective_lambda * part.value * (1 - _for_unlocks(part, decision.unlocked))


def pay_for(decision: Decision, names: Collection[str]) -> float:
    """What a decision was paid beside its unlocks for these achievements: their counts and what they bring.

    Components of kinds that only their strategy knows may be for anything, so they count too.
    """
    things = {*names, *(item for name in names for item in UNLOCKS.get(name, {}))}
    return math.fsum(pay for kind, name, pay in paid_beside(decision) if kind not in _REPEATABLE or name in things)


def pay_beside(decision: Decision) -> float:
    """What a decision was paid beside its unlocks; all its pay where it unlocked nothing."""
    if not decision.unlocked:
        return decision.reward.total
    return math.fsum(pay for _, _, pay in paid_beside(decision))


def _for_unlocks(part: RewardComponent, unlocked: tuple[str, ...]) -> float:
    if not unlocked:
        return 0.0
    if part.kind in _REPEATABLE:
        return own_share(part, sum(brought(part, name) for name in unlocked))
    if part.kind == "environment" and part.delta > len(unlocked):
        return own_share(part, len(unlocked))  # it pays 1 for each, and the rest for health
    return 1.0  # what else is paid where something was unlocked may all be for that
