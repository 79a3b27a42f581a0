"""The audit: exploits and oddities in one recorded episode, and in a reward configuration.

`audit` looks at an episode, `audit_config` at what follows from a configuration alone. Both give alerts with evidence;
`RULES` says in words what is looked for, `AuditThresholds` from where on it is found. Nothing here reads the store.

records         what comes out
thresholds      what can be adjusted
trail           an episode as the rules walk through it
laps            ways back to where they began
unlocks         what of a decision's pay is for its unlocks
crafter, worth  what Crafter's rules allow, and what a configuration pays for it
arrivals        how often creatures appear
rules           one file for each
quiet           why nothing is found in a configuration
"""

from __future__ import annotations

from dataclasses import replace

from core.analysis.audit.no_finding_reasons import is_potential_based, why_nothing
from core.analysis.audit.records import Alert, Cycle, Rule, Severity, Span
from core.analysis.audit.rules import CONFIG_RULES, EPISODE_RULES, RULES
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import MOST_EVIDENCE, Trail
from core.rewards import checked
from core.types import Episode, RewardConfig

__all__ = [
    "CONFIG_RULES",
    "EPISODE_RULES",
    "MOST_EVIDENCE",
    "RULES",
    "Alert",
    "AuditThresholds",
    "Cycle",
    "Rule",
    "Severity",
    "Span",
    "audit",
    "audit_config",
    "why_no_config_alert",
]

DEFAULTS = AuditThresholds()
# What these find is no farming under potential-based shaping.
_FARMING = ("paying_loop", "standing_still", "one_component", "no_change")
_NO_FARMING = (
    "The configuration is potential-based, which leaves the best policies as they are (Ng, Harada, Russell 1999), so "
    "this is no sign of farming."
)


def audit(episode: Episode, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """What was found in an episode, as it was paid, alerts before notices and then those with more reward first.

    An episode that still runs is looked at as far as it has come. Raises InvalidReward where its configuration is
    invalid (a strategy that this program does not have).
    """
    trail = Trail(episode)
    found = _by_weight([alert for rule in EPISODE_RULES for alert in rule.find(trail, thresholds)])
    return _excused(found) if is_potential_based(episode.spec.reward) else found


def audit_config(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """What follows from a configuration alone; nothing where it is disabled or potential-based.

    Raises InvalidReward.
    """
    usable = checked(config)
    if is_potential_based(usable):
        return ()
    return _by_weight([alert for rule in CONFIG_RULES for alert in rule.find(usable, thresholds)])


def why_no_config_alert(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> str:
    """Why `audit_config` finds nothing, in sentences for people; empty where it finds something.

    Raises InvalidReward.
    """
    return why_nothing(checked(config), thresholds)


def _excused(found: tuple[Alert, ...]) -> tuple[Alert, ...]:
    """One notice, that of the weightiest, in place of all alerts that speak of farming."""
    farming = [alert for alert in found if alert.rule in _FARMING and alert.severity is Severity.ALERT]
    notices = [
        replace(alert, severity=Severity.NOTICE, sentence=f"{alert.sentence} {_NO_FARMING}") for alert in farming[:1]
    ]
    return _by_weight([*(alert for alert in found if alert not in farming), *notices])


def _by_weight(alerts: list[Alert]) -> tuple[Alert, ...]:
    return tuple(sorted(alerts, key=lambda alert: (alert.severity is Severity.NOTICE, -abs(alert.reward))))
