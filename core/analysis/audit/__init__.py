"""The audit: signs of reward farming in one episode, and in a reward configuration.

`audit` reads an episode, `audit_config` a configuration alone. Both return alerts with evidence; `RULES` describes what
they look for, `AuditThresholds` from where on it is found.

crafter      what Crafter's rules allow: what unlocks bring, and which loops go on forever
pay          what decisions and configurations pay
trail        an episode as the rules read it
rules        one rule a file
"""

from __future__ import annotations

from dataclasses import replace

from core.analysis.audit.crafter import KNOWN_LOOPS, UNLOCKS
from core.analysis.audit.pay import unlocks_pay
from core.analysis.audit.records import Alert, PayingLoop, Rule, Severity, Span, amount, share
from core.analysis.audit.rules import CONFIG_RULES, EPISODE_RULES, RULES
from core.analysis.audit.rules.loop_pays_best import known_loops_by_pay, least_pay
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import MAX_EVIDENCE, TINY, Trail
from core.rewards import checked
from core.rewards.registry import find_strategy
from core.types import Episode, RewardConfig

__all__ = [
    "CONFIG_RULES",
    "EPISODE_RULES",
    "MAX_EVIDENCE",
    "RULES",
    "Alert",
    "AuditThresholds",
    "PayingLoop",
    "Rule",
    "Severity",
    "Span",
    "audit",
    "audit_config",
    "why_no_config_alert",
]

DEFAULTS = AuditThresholds()
# Under potential-based shaping, findings of these rules are no farming.
_FARMING = ("paying_loop", "standing_still", "one_component", "no_change")
_NO_FARMING = (
    "The configuration is potential-based, which leaves the best policies as they are (Ng, Harada, Russell 1999), so "
    "this is no sign of farming."
)
_POTENTIAL_BASED = (
    "The configuration is potential-based: a loop gains nothing from a potential, so the best policies stay as they "
    "are where gamma is the trainer's discount (Ng, Harada, Russell 1999). What loops pay was not compared."
)


def audit(episode: Episode, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """The findings in an episode as it was paid: alerts before notices, then by reward.

    A running episode is audited as far as it has come. Raises InvalidReward where this program does not have the
    strategy of its configuration.
    """
    trail = Trail(episode)
    found = _by_weight([alert for rule in EPISODE_RULES for alert in rule.find(trail, thresholds)])
    return _excused(found) if _is_potential_based(episode.spec.reward) else found


def audit_config(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """The findings of a configuration; none where it is inactive or potential-based. Raises InvalidReward."""
    config = checked(config)
    if _is_potential_based(config):
        return ()
    return _by_weight([alert for rule in CONFIG_RULES for alert in rule.find(config, thresholds)])


def why_no_config_alert(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> str:
    """Why `audit_config` finds nothing, for people; empty where it finds something. Raises InvalidReward."""
    config = checked(config)
    if not config.is_active:
        return "The configuration is not active, so it pays nothing."
    if _is_potential_based(config):
        return _POTENTIAL_BASED
    loop, best = known_loops_by_pay(config)[0]
    unlocks = unlocks_pay(config)
    if best.per_100_steps >= least_pay(unlocks, thresholds):
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
    """The alerts about farming replaced by one notice, that of the largest."""
    farming = [alert for alert in found if alert.rule in _FARMING and alert.severity is Severity.ALERT]
    notices = [
        replace(alert, severity=Severity.NOTICE, sentence=f"{alert.sentence} {_NO_FARMING}") for alert in farming[:1]
    ]
    return _by_weight([*(alert for alert in found if alert not in farming), *notices])


def _by_weight(alerts: list[Alert]) -> tuple[Alert, ...]:
    return tuple(sorted(alerts, key=lambda alert: (alert.severity is Severity.NOTICE, -abs(alert.reward))))
