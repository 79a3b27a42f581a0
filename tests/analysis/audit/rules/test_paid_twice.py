"""One unlock, several names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, Severity, audit
from core.types import RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To

WOOD = To({"wood": 1}, "collect_wood")


def twice(story: Story, **thresholds: Any) -> list[Alert]:
    return [a for a in audit(story.episode, AuditThresholds(**thresholds)) if a.rule == "paid_twice"]


def test_an_unlock_that_is_paid_three_times_is_a_notice_under_the_default_weights():
    (alert,) = twice(Story().decide(WOOD))
    assert alert.severity is Severity.NOTICE
    assert alert.reward == pytest.approx(0.08 + 0.10)
    assert 'the unlock of "collect_wood" 1.00, "wood" in the inventory 0.10, the count of "collect_wood" 0.08' in (
        alert.sentence
    )
    assert [(span.first_decision, span.caption) for span in alert.evidence] == [(0, "collect_wood")]


def test_what_more_was_gathered_in_the_same_decision_is_not_the_unlock():
    (alert,) = twice(Story().decide(WOOD, WOOD, WOOD))
    assert alert.reward == pytest.approx(0.08 + 0.10)


def test_where_the_repetition_outweighs_the_rest_it_is_an_alert():
    heavy = replace(DEFAULT, inventory_weights={"wood": 1.0}, achievement_count_weights={"collect_wood": 1.0})
    (alert,) = twice(Story(heavy).decide(WOOD))
    assert alert.severity is Severity.ALERT
    assert "67% of what all unlocks paid" in alert.sentence


def test_the_threshold_decides_between_the_two():
    assert [a.severity for a in twice(Story().decide(WOOD), twice_share=0.1)] == [Severity.ALERT]


@pytest.mark.parametrize(
    "config",
    [
        RewardConfig("consistent"),
        replace(DEFAULT, inventory_weights={"wood": 0.0}, achievement_count_weights={"collect_wood": 0.0}),
        replace(DEFAULT, weights={"collect_wood": 0.0}, inventory_weights={"wood": 0.0}),
    ],
)
def test_an_unlock_that_is_paid_under_one_name_is_none(config: RewardConfig):
    assert twice(Story(config).decide(WOOD)) == []


def test_the_same_pay_without_an_unlock_is_none():
    story = Story(replace(DEFAULT, achievement_count_weights={"place_table": 0.0}))
    assert twice(story.decide(To(done="place_table")).decide(To({"wood": 1}))) == []
