"""Reward after the end, and reward without a change."""

from __future__ import annotations

from functools import partial

import pytest

from core.analysis.audit import Severity
from core.types import RewardConfig
from tests.support.audit_episodes import Story, To, found

DRINK = To({}, "collect_drink")
STILL = To(clock=1)


late = partial(found, "after_end")
unchanged = partial(found, "no_change")


def test_reward_of_the_last_step_is_no_finding():
    assert late(Story().decide(DRINK).decide(To({"health": -9}, "collect_wood", terminated=True))) == []


def test_reward_after_termination():
    story = Story().decide(DRINK).decide(To(terminated=True)).decide(DRINK).decide(To())
    (alert,) = late(story)
    assert alert.reward == pytest.approx(0.06)
    assert [(span.first_decision, span.last_decision, span.first_frame) for span in alert.evidence] == [(2, 2, 2)]
    assert "after the end of the world at frame 2" in alert.sentence
    assert late(story, after_end_reward=1.0) == []


def test_no_health_is_an_end_without_a_flag():
    (alert,) = late(Story().decide(To({"health": -9})).decide(DRINK))
    assert [span.first_decision for span in alert.evidence] == [1]


def test_steps_after_the_end_within_a_decision():
    (alert,) = late(Story().decide(To(terminated=True), DRINK))
    assert [span.first_decision for span in alert.evidence] == [0]


def test_steps_after_the_end_without_reward_are_no_finding():
    assert late(Story().decide(DRINK).decide(To(terminated=True)).decide(To())) == []


def test_reward_in_a_second_world():
    story = Story().decide(DRINK).decide(DRINK).decide(To({"wood": 1}, new_world=True, clock=0)).decide(DRINK)
    (alert,) = late(story)
    assert "in another world, which begins at frame 3, one of them across both worlds" in alert.sentence
    assert [(span.first_decision, span.last_decision) for span in alert.evidence] == [(2, 3)]


def test_after_the_end_and_in_another_world_are_two_alerts():
    story = Story().decide(DRINK).decide(To(terminated=True)).decide(DRINK)
    assert len(late(story.decide(To(new_world=True, clock=0)).decide(DRINK))) == 2


def test_reward_without_a_change():
    (alert,) = unchanged(Story().decide(To({"wood": 1})).decide(STILL, pay=0.5).decide(STILL, pay=0.5).decide(STILL))
    assert (alert.severity, alert.reward) == (Severity.ALERT, pytest.approx(1.0))
    assert [(span.first_decision, span.last_decision, span.first_frame) for span in alert.evidence] == [(1, 2, 1)]


def test_a_decision_without_a_step_changes_nothing():
    (alert,) = unchanged(Story().decide(pay=0.5))
    (span,) = alert.evidence
    assert (span.first_frame, span.last_frame) == (0, 0)
    assert unchanged(Story().decide(pay=0.5), unchanged_reward=0.5) == []


@pytest.mark.parametrize("change", [To({"wood": 1}), To(at=(1, 1)), To(done="collect_drink"), To(ground=2)])
def test_reward_for_a_change_is_no_finding(change: To):
    assert unchanged(Story().decide(change, pay=0.5)) == []


def test_a_loss_of_a_discounted_potential_is_a_notice():
    story = Story(RewardConfig("potential_based")).decide(To(done="collect_drink")).decide(STILL)
    (alert,) = unchanged(story)
    assert alert.severity is Severity.NOTICE
    assert alert.reward == pytest.approx(-0.01)
