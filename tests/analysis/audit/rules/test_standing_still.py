"""The return rises without new achievements."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.audit_episodes import Story, To, found

WOOD = To({"wood": 1}, "collect_wood")
WORTH = 28.2 / 22  # of an unlock under the default configuration


stills = partial(found, "standing_still")


def gathered(times: int, *, between: int = 0) -> Story:
    """Collects wood at one place after another, with `between` steps of walking in between."""
    story = Story().unlock_all()
    for x in range(times):
        story.decide(To({"wood": 1}, "collect_wood", at=(x, 0))).repeat(between, (To(at=(x, 1)),))
    return story


def test_the_whole_stretch_without_an_unlock_is_found():
    (alert,) = stills(gathered(100))
    assert alert.reward == sum(span.reward for span in alert.evidence)
    assert round(alert.reward, 6) == 100 * 0.18
    (span,) = alert.evidence
    assert (span.first_decision, span.last_decision, span.first_frame, span.last_frame) == (22, 121, 22, 122)
    assert "without the pay of unlocks, from step 22 to step 122." in alert.sentence


def test_little_pay_is_no_finding():
    assert stills(gathered(int(6.9 * WORTH / 0.18))) == []
    assert stills(gathered(int(7.1 * WORTH / 0.18) + 1)) != []
    assert stills(gathered(20)) == [] != stills(gathered(20), still_worth=2.0)


def test_the_same_pay_over_a_longer_time_is_no_finding():
    assert stills(gathered(100, between=9)) == []
    assert stills(gathered(100, between=9), still_steps=1_000) != []


def test_an_unlock_begins_a_new_stretch():
    story = Story().decide(WOOD)
    for name in ("collect_drink", "place_table", "eat_cow", "wake_up"):
        story.repeat(40, (WOOD,)).decide(To(done=name))
    assert stills(story) == []
    assert stills(Story().decide(WOOD).repeat(160, (WOOD,))) != []


def test_pay_beside_an_unlock_in_the_same_decision_is_found():
    (alert,) = stills(Story().decide(*[WOOD] * 101))
    assert alert.reward == pytest.approx(100 * 0.18)
    (span,) = alert.evidence
    assert (span.first_decision, span.last_decision) == (0, 0)
    assert span.reward == alert.reward


def test_the_pay_of_unlocks_is_no_finding():
    assert stills(Story().unlock_all(), still_worth=0.01) == []


def test_two_stretches_are_two_pieces_of_evidence():
    story = gathered(60)
    story.repeat(300, (To(),)).repeat(60, (WOOD,))
    (alert,) = stills(story)
    assert [(span.first_decision, span.last_decision) for span in alert.evidence] == [(22, 81), (382, 441)]
