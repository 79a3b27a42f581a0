"""One component pays for most."""

from __future__ import annotations

from functools import partial

import pytest

from core.env.rules import ACHIEVEMENTS
from core.types import RewardConfig
from tests.support.audit_episodes import Story, To, found

DRINK = (To(done="collect_drink"),)


shares = partial(found, "one_component")


def test_a_component_with_more_than_half_of_everything_is_found():
    (alert,) = shares(Story().repeat(60, DRINK))
    assert alert.reward == pytest.approx(59 * 0.06)
    assert 'The count of "collect drink" paid 3.54 in 59 decisions, unlocks left out: 77%' in alert.sentence
    assert [(span.first_decision, span.last_decision) for span in alert.evidence] == [(1, 59)]


def test_only_the_components_own_pay_counts():
    story = Story().repeat(60, (To({"wood": 1}, "collect_drink"),))
    (alert,) = shares(story)
    assert '"wood" in the inventory' in alert.sentence
    assert sum(span.reward for span in alert.evidence) == pytest.approx(60 * 0.10)  # no unlock brings it


def test_repeats_in_decisions_with_an_unlock_count_without_the_unlock():
    story = Story()
    for name in ACHIEVEMENTS:
        story.decide(To(done=name), *DRINK * 40)
    (alert,) = shares(story)
    assert alert.reward == pytest.approx(0.06 * 40 * len(ACHIEVEMENTS))


def test_unlocks_alone_are_no_finding():
    assert shares(Story().decide(To(done="collect_drink"))) == []
    assert shares(Story(RewardConfig("consistent")).unlock_all(), component_decisions=1) == []


def test_too_few_decisions_are_no_finding():
    story = Story(RewardConfig("per_achievement", weights={"collect_drink": 0.0})).repeat(20, DRINK)
    assert shares(story) == []
    assert shares(story, component_decisions=19) != []


def test_a_small_share_is_no_finding():
    story = Story().unlock_all().repeat(60, DRINK)
    assert shares(story) == []
    assert shares(story, component_share=0.1) != []
