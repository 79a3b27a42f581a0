"""One component pays for most."""

from __future__ import annotations

from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, audit
from core.env.rules import ACHIEVEMENTS
from core.types import RewardConfig
from tests.support.audit_episodes import Story, To

DRINK = (To(done="collect_drink"),)


def shares(story: Story, **thresholds: Any) -> list[Alert]:
    return [a for a in audit(story.episode, AuditThresholds(**thresholds)) if a.rule == "one_component"]


def test_a_component_with_more_than_half_of_everything_is_found():
    (alert,) = shares(Story().repeat(60, DRINK))
    assert alert.reward == pytest.approx(59 * 0.06)
    assert 'The count of "collect_drink" paid 3.54 in 59 decisions, unlocks left out: 77%' in alert.sentence
    assert [(span.first_decision, span.last_decision) for span in alert.evidence] == [(1, 59)]


def test_only_its_own_part_of_a_decision_is_concerned():
    story = Story().repeat(60, (To({"wood": 1}, "collect_drink"),))
    (alert,) = shares(story)
    assert '"wood" in the inventory' in alert.sentence
    assert sum(span.reward for span in alert.evidence) == pytest.approx(60 * 0.10)  # no unlock brings it


def test_what_is_repeated_in_decisions_that_unlock_something_counts_without_the_unlock():
    story = Story()
    for name in ACHIEVEMENTS:
        story.decide(To(done=name), *DRINK * 40)
    (alert,) = shares(story)
    assert alert.reward == pytest.approx(0.06 * 40 * len(ACHIEVEMENTS))


def test_an_episode_with_one_unlock_is_none():
    assert shares(Story().decide(To(done="collect_drink"))) == []


def test_a_configuration_that_pays_for_unlocks_alone_is_none():
    assert shares(Story(RewardConfig("consistent")).unlock_all(), component_decisions=1) == []


def test_too_few_decisions_are_none():
    story = Story(RewardConfig("per_achievement", weights={"collect_drink": 0.0})).repeat(20, DRINK)
    assert shares(story) == []
    assert shares(story, component_decisions=19) != []


def test_a_component_among_many_is_none():
    story = Story().unlock_all().repeat(60, DRINK)
    assert shares(story) == []
    assert shares(story, component_share=0.1) != []
