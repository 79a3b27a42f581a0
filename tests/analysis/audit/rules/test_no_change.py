"""Reward without a change."""

from __future__ import annotations

from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, Severity, audit
from core.types import RewardConfig
from tests.support.audit_episodes import Story, To

STILL = To(clock=1)


def unchanged(story: Story, **thresholds: Any) -> list[Alert]:
    return [a for a in audit(story.episode, AuditThresholds(**thresholds)) if a.rule == "no_change"]


def test_pay_for_nothing_is_found():
    (alert,) = unchanged(Story().decide(To({"wood": 1})).decide(STILL, pay=0.5).decide(STILL, pay=0.5).decide(STILL))
    assert (alert.severity, alert.reward) == (Severity.ALERT, pytest.approx(1.0))
    assert [(span.first_decision, span.last_decision, span.first_frame) for span in alert.evidence] == [(1, 2, 1)]


def test_a_decision_without_a_step_changes_nothing():
    (alert,) = unchanged(Story().decide(pay=0.5))
    (span,) = alert.evidence
    assert (span.first_frame, span.last_frame) == (0, 0)


@pytest.mark.parametrize("change", [To({"wood": 1}), To(at=(1, 1)), To(done="collect_drink"), To(ground=2)])
def test_pay_for_any_change_is_none(change: To):
    assert unchanged(Story().decide(change, pay=0.5)) == []


def test_what_a_discounted_potential_takes_for_standing_still_is_a_notice():
    story = Story(RewardConfig("potential_based")).decide(To(done="collect_drink")).decide(STILL)
    (alert,) = unchanged(story)
    assert alert.severity is Severity.NOTICE
    assert alert.reward == pytest.approx(-0.01)


def test_more_than_the_threshold_has_to_be_paid():
    assert unchanged(Story().decide(STILL, pay=0.5), unchanged_reward=0.5) == []
