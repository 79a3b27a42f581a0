"""Why an audit of a configuration finds nothing, in words."""

from __future__ import annotations

from core.analysis.audit.audit_text import amount, share
from core.analysis.audit.crafter import LOOPS, UNLOCKS
from core.analysis.audit.rules.loop_pays_best import cycles, least_pay
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY
from core.analysis.audit.worth import unlocks_pay
from core.rewards.registry import find_strategy
from core.types import RewardConfig

_POTENTIAL_BASED = (
    "The configuration is potential-based. A way that leads back to where it began wins nothing by a potential, so the "
    "best policies stay as they are where gamma is the trainer's own discount (Ng, Harada, Russell 1999). What loops "
    "pay was not compared."
)


def is_potential_based(config: RewardConfig) -> bool:
    """Whether its strategy says so. Raises InvalidReward for a strategy that this program does not have."""
    return find_strategy(config.strategy).is_potential_based


def why_nothing(config: RewardConfig, thresholds: AuditThresholds) -> str:
    """Why `audit_config` finds nothing for a checked configuration; empty where it does find something."""
    if not config.is_active:
        return "The configuration is not active, so it pays nothing."
    if is_potential_based(config):
        return _POTENTIAL_BASED
    loop, best = cycles(config)[0]
    unlocks = unlocks_pay(config)
    if best.per_100_steps >= least_pay(unlocks, thresholds):
        return ""
    if best.per_100_steps <= TINY:
        return f"None of the {len(LOOPS)} known loops pays anything."
    return (
        f"The known loop that pays best, {loop.name}, pays up to {amount(best.per_100_steps)} in 100 steps: "
        f"{share(best.per_100_steps / unlocks)} of what all {len(UNLOCKS)} unlocks pay once. An alert begins at "
        f"{share(thresholds.config_share)}."
    )
