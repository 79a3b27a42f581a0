"""Audits that were made, kept: an episode that is over gives the same alerts under the same thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.analysis.audit import Alert, AuditThresholds, Severity, audit, audit_config, why_no_config_alert
from core.errors import CraftscopeError
from core.store import TraceStore
from core.types import RewardConfig


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found. problem: why it could not be looked at. why_none: why nothing was found. Empty where not so."""

    alerts: tuple[Alert, ...] = ()
    problem: str = ""
    why_none: str = ""

    @property
    def n_alerts(self) -> int:
        """Those that are more than a notice."""
        return sum(alert.severity is Severity.ALERT for alert in self.alerts)

    @property
    def n_notices(self) -> int:
        """The others."""
        return len(self.alerts) - self.n_alerts


def audited(store: TraceStore, episode_id: str, n_decisions: int, thresholds: AuditThresholds) -> Audited:
    """The audit of an episode; n_decisions: how many it has by now, so that one that still runs is read again."""
    return _audit(store, store.url, episode_id, n_decisions, thresholds)


def audited_config(config: RewardConfig, thresholds: AuditThresholds) -> Audited:
    """What follows from a configuration alone."""
    try:
        return Audited(audit_config(config, thresholds), why_none=why_no_config_alert(config, thresholds))
    except CraftscopeError as error:
        return Audited(problem=str(error))


# A resource, not data: what comes out is frozen.
@st.cache_resource(max_entries=2_000, show_spinner=False)
def _audit(_store: TraceStore, url: str, episode_id: str, n_decisions: int, thresholds: AuditThresholds) -> Audited:
    try:
        return Audited(audit(_store.episodes.load(episode_id), thresholds))
    except CraftscopeError as error:  # damaged, say: that is the episode's finding, and the others go on
        return Audited(problem=str(error))
