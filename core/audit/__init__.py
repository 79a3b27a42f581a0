"""The audit: exploits and oddities in one recorded episode, and in a reward configuration.

`audit` looks at an episode, `audit_config` at what follows from a configuration alone. Both give alerts with evidence;
`RULES` says in words what is looked for, `AuditThresholds` from where on it is found. Nothing here reads the store.

records         what comes out
thresholds      what can be adjusted
trail           an episode as the rules walk through it
crafter, worth  what Crafter's rules allow, and what a configuration pays for it
rules           one file for each
"""

from __future__ import annotations

from core.audit.records import Alert, Cycle, Rule, Severity, Span
from core.audit.rules import CONFIG_RULES, EPISODE_RULES, RULES
from core.audit.thresholds import AuditThresholds
from core.audit.trail import MOST_EVIDENCE, Trail
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
]

DEFAULTS = AuditThresholds()


def audit(episode: Episode, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """What was found in an episode, as it was paid, alerts before notices and then those with more reward first.

    An episode that still runs is looked at as far as it has come. Raises InvalidReward where its configuration cannot
    be used (a strategy that this program does not have).
    """
    trail = Trail(episode)
    return _by_weight([alert for rule in EPISODE_RULES for alert in rule.find(trail, thresholds)])


def audit_config(config: RewardConfig, thresholds: AuditThresholds = DEFAULTS) -> tuple[Alert, ...]:
    """What follows from a configuration alone; nothing where it is disabled. Raises InvalidReward."""
    usable = checked(config)
    return _by_weight([alert for rule in CONFIG_RULES for alert in rule.find(usable, thresholds)])


def _by_weight(alerts: list[Alert]) -> tuple[Alert, ...]:
    return tuple(sorted(alerts, key=lambda alert: (alert.severity is Severity.NOTICE, -abs(alert.reward))))
