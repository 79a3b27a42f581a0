"""Double-counted unlocks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from core.analysis.audit import Severity
from core.types import RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To, found

WOOD = To({"wood": 1}, "collect_wood")


twice = partial(found, "paid_twice")


def test_the_default_weights_give_a_notice():
    (alert,) = twice(Story().decide(WOOD))
    assert alert.severity is Severity.NOTICE
    assert alert.reward == pytest.approx(0.08 + 0.10)
    assert 'the unlock of "collect wood" 1.00, "wood" in the inventory 0.10, the count of "collect wood" 0.08' in (
        alert.sentence
    )
    assert [(span.first_decision, span.caption) for span in alert.evidence] == [(0, "collect wood")]


def test_more_of_the_same_item_in_the_decision_does_not_count():
    (alert,) = twice(Story().decide(WOOD, WOOD, WOOD))
    assert alert.reward == pytest.approx(0.08 + 0.10)


def test_it_is_an_alert_from_the_threshold_on():
    assert [alert.severity for alert in twice(Story().decide(WOOD), twice_share=0.1)] == [Severity.ALERT]
    heavy = replace(DEFAULT, inventory_weights={"wood": 1.0}, achievement_count_weights={"collect_wood": 1.0})
    (alert,) = twice(Story(heavy).decide(WOOD))
    assert alert.severity is Severity.ALERT
    assert "67% of what all unlocks paid" in alert.sentence


@pytest.mark.parametrize(
    "config",
    [
        RewardConfig("consistent"),
        replace(DEFAULT, inventory_weights={"wood": 0.0}, achievement_count_weights={"collect_wood": 0.0}),
        replace(DEFAULT, weights={"collect_wood": 0.0}, inventory_weights={"wood": 0.0}),
    ],
)
def test_an_unlock_that_one_component_pays_is_no_finding(config: RewardConfig):
    assert twice(Story(config).decide(WOOD)) == []


def test_the_same_pay_without_an_unlock_is_no_finding():
    story = Story(replace(DEFAULT, achievement_count_weights={"place_table": 0.0}))
    assert twice(story.decide(To(done="place_table")).decide(To({"wood": 1}))) == []
