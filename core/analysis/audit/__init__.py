"""The audit: signs of reward farming in one episode, or in a reward configuration.

`audit` reads an episode, `audit_config` a configuration alone. Both return alerts with evidence. `RULES` describes what
they look for, and `AuditThresholds` sets how much of it is an alert.

crafter      facts about Crafter: what each unlock adds to the inventory, and which loops can go on forever
pay          what decisions and configurations pay
trail        an episode as the rules read it
rules        one rule per file
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.analysis.audit.crafter import KNOWN_LOOPS, UNLOCKS
from core.analysis.audit.pay import unlocks_pay
from core.analysis.audit.records import Alert, Rule, Severity, Span, amount, share
from core.analysis.audit.rules import loop_pays_best, no_effect, one_component, paid_twice, paying_loop, standing_still
from core.analysis.audit.rules.loop_pays_best import known_loops_by_pay, min_pay
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import MAX_EVIDENCE, TINY, Trail
from core.rewards import checked_reward
from core.rewards.registry import find_strategy
from core.types import Episode, RewardConfig

__all__ = [
    "EPISODE_RULES",
    "MAX_EVIDENCE",
    "RULES",
    "Alert",
    "AuditThresholds",
    "Severity",
    "Span",
    "audit",
    "audit_config",
    "why_no_config_alert",
]

EPISODE_RULES: tuple[Rule[Trail], ...] = (
    paying_loop.RULE,
    standing_still.RULE,
    one_component.RULE,
    paid_twice.RULE,
    no_effect.AFTER_END,
    no_effect.NO_CHANGE,
)
CONFIG_RULES: tuple[Rule[RewardConfig], ...] = (loop_pays_best.RULE,)
RULES: dict[str, Rule[Any]] = {rule.id: rule for rule in (*EPISODE_RULES, *CONFIG_RULES)}

DEFAULTS = AuditThresholds()
# What these rules find is not farming under potential-based shaping.
_FARMING = ("paying_loop", "standing_still", "one_component", "no_change")
_NO_FARMING = (
    "The configuration is potential-based, which does not change the best policies (Ng, Harada, Russell 1999), so this "
    "is no sign of farming."
)
_POTENTIAL_BASED = (
    "The configuration is potential-based: a loop gains nothing from a potential, so the best policies do not change "
    "if gamma is the trainer's discount (Ng, Harada, Russell 1999). What loops pay was not compared."
)


def audit(episode: Episode, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """The findings in an episode under its rewards as played: alerts before notices, then by reward.

    A running episode is audited up to its latest decision. Raises InvalidReward if its strategy is unknown here.
    """
    trail = Trail(episode)
    found = _by_weight([alert for rule in EPISODE_RULES for alert in rule.find(trail, thresholds)])
    return _excused(found) if _is_potential_based(episode.spec.reward) else found


def audit_config(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """The findings in a configuration; none if it is inactive or potential-based. Raises InvalidReward."""
    config = checked_reward(config)
    if _is_potential_based(config):
        return ()
    return _by_weight([alert for rule in CONFIG_RULES for alert in rule.find(config, thresholds)])


def why_no_config_alert(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> str:
    """A sentence on why `audit_config` finds nothing; empty if it finds something. Raises InvalidReward."""
    config = checked_reward(config)
    if not config.is_active:
        return "The configuration is not active, so it pays nothing."
    if _is_potential_based(config):
        return _POTENTIAL_BASED
    loop, best = known_loops_by_pay(config)[0]
    unlocks = unlocks_pay(config)
    if best.per_100_steps >= min_pay(unlocks, thresholds):
        return ""
    if best.per_100_steps <= TINY:
        return f"None of the {len(KNOWN_LOOPS)} known loops pays anything."
    return (
        f"The known loop that pays best, {loop.name}, pays up to {amount(best.per_100_steps)} in 100 steps: "
        f"{share(best.per_100_steps / unlocks)} of what all {len(UNLOCKS)} unlocks pay once. An alert begins at "
        f"{share(thresholds.config_share)}."
    )


def _is_potential_based(config: RewardConfig) -> bool:
    return find_strategy(config.strategy).is_potential_based


def _excused(found: tuple[Alert, ...]) -> tuple[Alert, ...]:
    """Replaces the alerts about farming by one notice, that of the largest."""
    farming = [alert for alert in found if alert.rule in _FARMING and alert.severity is Severity.ALERT]
    notices = [
        replace(alert, severity=Severity.NOTICE, sentence=f"{alert.sentence} {_NO_FARMING}") for alert in farming[:1]
    ]
    return _by_weight([*(alert for alert in found if alert not in farming), *notices])


def _by_weight(alerts: list[Alert]) -> tuple[Alert, ...]:
    return tuple(sorted(alerts, key=lambda alert: (alert.severity is Severity.NOTICE, -abs(alert.reward))))
