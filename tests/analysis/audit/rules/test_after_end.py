"""Reward after the end."""

from __future__ import annotations

from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, audit
from tests.support.audit_episodes import Story, To

DRINK = To({}, "collect_drink")


def late(story: Story, **thresholds: Any) -> list[Alert]:
    return [a for a in audit(story.episode, AuditThresholds(**thresholds)) if a.rule == "after_end"]


def test_an_episode_that_ends_with_its_world_is_none():
    assert late(Story().decide(DRINK).decide(To({"health": -9}, "collect_wood", terminated=True))) == []


def test_what_a_step_after_the_terminated_one_pays_is_found():
    story = Story().decide(DRINK).decide(To(terminated=True)).decide(DRINK).decide(To())
    (alert,) = late(story)
    assert alert.reward == pytest.approx(0.06)
    assert [(span.first_decision, span.last_decision, span.first_frame) for span in alert.evidence] == [(2, 2, 2)]
    assert "after the end of the world at frame 2" in alert.sentence


def test_a_player_without_health_is_dead_though_nobody_says_so():
    (alert,) = late(Story().decide(To({"health": -9})).decide(DRINK))
    assert [span.first_decision for span in alert.evidence] == [1]


def test_steps_that_follow_the_end_within_a_decision_are_found():
    (alert,) = late(Story().decide(To(terminated=True), DRINK))
    assert [span.first_decision for span in alert.evidence] == [0]


def test_steps_after_the_end_that_pay_nothing_are_none():
    assert late(Story().decide(DRINK).decide(To(terminated=True)).decide(To())) == []


def test_reward_in_a_second_world_is_found_and_the_decision_that_crosses_is_named():
    story = Story().decide(DRINK).decide(DRINK).decide(To({"wood": 1}, new_world=True, clock=0)).decide(DRINK)
    (alert,) = late(story)
    assert "in another world, which begins at frame 3, one of them across both worlds" in alert.sentence
    assert [(span.first_decision, span.last_decision) for span in alert.evidence] == [(2, 3)]


def test_a_clock_that_goes_back_is_another_world_too():
    story = Story().repeat(9, (To(),)).decide(To(new_world=True, clock=0)).decide(DRINK)
    assert [span.first_decision for alert in late(story) for span in alert.evidence] == [10]


def test_both_are_two_alerts():
    story = Story().decide(DRINK).decide(To(terminated=True)).decide(DRINK)
    assert len(late(story.decide(To(new_world=True, clock=0)).decide(DRINK))) == 2


def test_more_than_the_threshold_has_to_be_paid():
    story = Story().decide(DRINK).decide(To(terminated=True)).decide(DRINK)
    assert late(story, after_end_reward=1.0) == []
