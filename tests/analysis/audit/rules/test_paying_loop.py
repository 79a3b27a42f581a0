"""A loop that pays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from core.types import RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To, found

DRINK = (To(done="collect_drink"),)
PLACE, COLLECT = To({"stone": -1}, "place_stone"), To({"stone": 1}, "collect_stone")


loops = partial(found, "paying_loop")


def settled() -> Story:
    """Everything unlocked, one stone held."""
    return Story().unlock_all().decide(To({"stone": 1}))


def test_repeated_drinking_is_a_loop_of_one_step():
    (alert,) = loops(Story().unlock_all().repeat(40, DRINK))
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.steps, alert.loop.repeats) == (("collect_drink",), 1, 40)
    assert alert.loop.gain == pytest.approx(0.06)
    assert alert.reward == pytest.approx(40 * 0.06)
    assert [
        (span.first_decision, span.last_decision, span.first_frame, span.last_frame) for span in alert.evidence
    ] == [(22, 61, 22, 62)]
    assert "A loop (collect drink) paid 2.40 in 40 repeats, 0.06 each" in alert.sentence


def test_placing_and_collecting_is_a_loop_of_two_steps():
    (alert,) = loops(settled().repeat(10, (PLACE,), (COLLECT,)))
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.steps, alert.loop.repeats) == (("collect_stone", "place_stone"), 2, 10)
    assert alert.loop.gain == pytest.approx(0.05 + 0.10 + 0.15)


def test_each_repeat_in_a_decision_counts_but_its_reward_only_once():
    (alert,) = loops(Story().unlock_all().repeat(8, DRINK * 5))
    assert alert.loop is not None
    assert (alert.loop.repeats, alert.loop.steps) == (40, 1)
    assert alert.reward == pytest.approx(40 * 0.06)


def test_repeats_may_end_within_a_decision():
    story = settled().repeat(8, (PLACE, COLLECT, PLACE), (COLLECT, PLACE, COLLECT))
    (alert,) = loops(story)
    assert alert.loop is not None
    assert (alert.loop.repeats, alert.loop.steps) == (24, 2)


def test_the_example_of_a_loop_with_detours_is_its_shortest_repeat():
    story = settled().repeat(5, (PLACE,), (To(at=(3, 3)),), (To(at=(9, 9)),), (COLLECT,))
    (alert,) = loops(story.repeat(5, (PLACE,), (COLLECT,)))
    assert alert.loop is not None
    assert (alert.loop.repeats, alert.loop.steps) == (10, 2)


def test_two_loops_are_two_alerts_the_best_paid_first():
    story = settled().repeat(30, DRINK).repeat(30, (PLACE,), (COLLECT,))
    assert [a.loop.names for a in loops(story) if a.loop] == [("collect_stone", "place_stone"), ("collect_drink",)]


def test_drinking_when_thirsty_is_not_a_loop():
    sip = To({"drink": 1}, "collect_drink")
    sips = Story().unlock_all().repeat(40, (To({"drink": -1}),), (sip,))
    one_fill = Story().unlock_all().decide(To({"drink": -8})).repeat(8, (sip,))
    assert loops(sips) == loops(one_fill, loop_repeats=1, loop_worth=0.0) == []


def test_digging_is_not_a_loop():
    tunnel = settled()
    for ground in range(2, 60):  # with a full inventory
        tunnel.decide(To({}, "collect_stone", ground=ground)).decide(To(at=(ground, 9)))
    assert loops(tunnel) == []
    story = settled()
    for x in range(20):
        story.decide(To(at=(x, 9)))
        for side in range(4):
            story.decide(To({}, "collect_stone", ground=100 + 4 * x + side))
    assert loops(story, loop_worth=0.0) == []


def test_drinking_at_one_place_is_a_loop_even_if_the_ground_changes():
    story = Story().unlock_all()
    for ground in range(2, 42):
        story.decide(To({}, "collect_drink", ground=ground))
    (alert,) = loops(story)
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.steps, alert.loop.repeats) == (("collect_drink",), 1, 40)
    assert alert.reward == pytest.approx(40 * 0.06)


def test_night_and_passing_creatures_do_not_hide_a_loop():
    busy = Story().unlock_all()
    for step in range(40):
        busy.decide(To({}, "collect_drink", clock=7, creature=step % 9))
    assert loops(busy) == loops(Story().unlock_all().repeat(40, DRINK)) != []


def test_waking_up_in_the_same_place_is_not_a_loop():
    night = Story().unlock_all().decide(To({"energy": -1}))
    night.decide(To(asleep=True)).decide(To({"energy": 1}, asleep=True)).decide(To(done="wake_up"))
    assert loops(night, loop_repeats=1, loop_worth=0.0) == []


def test_unlocks_are_not_a_loop():
    assert loops(Story().repeat(1, DRINK), loop_repeats=1, loop_worth=0.0) == []
    assert loops(Story().unlock_all(), loop_repeats=1, loop_worth=0.0) == []


def test_the_reward_of_unlocks_is_not_counted():
    story = Story()
    for name in ("collect_drink", "collect_wood", "place_table", "eat_cow"):
        story.decide(To(done=name), *DRINK * 10)
    (alert,) = loops(story)
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.repeats) == (("collect_drink",), 40)
    assert alert.reward == pytest.approx(40 * 0.06)
    assert sum(span.reward for span in alert.evidence) == pytest.approx(40 * 0.06)


def test_alternating_loops_share_no_decision():
    story = settled().repeat(30, DRINK, (PLACE,), DRINK, (COLLECT,))
    found = loops(story)
    concerned = [i for a in found for span in a.evidence for i in range(span.first_decision, span.last_decision + 1)]
    assert len(concerned) == len(set(concerned))
    assert sum(a.reward for a in found) == pytest.approx(30 * (0.30 + 2 * 0.06))


def test_several_actions_in_one_decision_are_one_loop():
    (alert,) = loops(settled().repeat(10, (*DRINK, PLACE, COLLECT)))
    assert alert.loop is not None
    assert alert.loop.names == ("collect_drink", "collect_stone", "place_stone")
    assert alert.reward == pytest.approx(10 * 0.21)  # no stone more at the end of a decision


def test_two_loops_in_the_same_decisions_are_one_alert():
    search = To({}, "collect_sapling")
    (alert,) = loops(Story().unlock_all().repeat(40, (*DRINK, *DRINK, search)))
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.repeats) == (("collect_drink",), 80)
    assert alert.reward == pytest.approx(80 * 0.06)


def test_a_second_loop_needs_enough_decisions_of_its_own():
    all_three = ("collect_drink", "collect_stone", "place_stone")
    story = settled().repeat(10, (*DRINK, PLACE, COLLECT)).repeat(10, DRINK)
    assert [a.loop.names for a in loops(story) if a.loop] == [all_three]
    more = settled().repeat(10, (*DRINK, PLACE, COLLECT)).repeat(20, DRINK)
    assert [a.loop.names for a in loops(more) if a.loop] == [all_three, ("collect_drink",)]
    assert [a.reward for a in loops(more)] == [pytest.approx(2.1), pytest.approx(1.2)]


def test_the_reward_of_other_gains_is_not_counted():
    (alert,) = loops(Story().unlock_all().repeat(20, (*DRINK, To({"wood": 1}, "collect_wood"))), loop_worth=0.0)
    assert alert.reward == pytest.approx(20 * 0.06)


def test_repeats_that_take_too_long_are_not_a_loop():
    story = settled()
    for change in [PLACE, COLLECT] * 20:
        story.decide(change).repeat(15, (To(at=(3, 3)),)).decide(To(at=(9, 9)))
    assert loops(story) != []
    assert loops(story, loop_steps=10) == []


def test_repeats_that_are_too_few_pay_too_little_or_are_far_apart_are_no_finding():
    few = settled().repeat(4, (PLACE,), (COLLECT,))
    assert loops(few) == [] != loops(few, loop_repeats=4)
    cheap = Story().unlock_all().repeat(10, DRINK)
    assert loops(cheap) == [] != loops(cheap, loop_worth=0.4)
    apart = settled()
    for _ in range(10):
        apart.decide(PLACE).decide(COLLECT).repeat(40, (To(at=(3, 3)),)).decide(To(at=(9, 9)))
    assert loops(apart) != []
    assert loops(apart, loop_window=100) == []


def test_repeats_that_lead_to_another_place_count_half():
    out_and_back = (COLLECT,), (To(at=(9, 8)),), (To(at=(9, 9)),), (PLACE,)
    few, enough = settled().repeat(9, *out_and_back), settled().repeat(10, *out_and_back)
    assert loops(few) == []
    (alert,) = loops(enough)
    assert alert.loop is not None
    assert (alert.loop.repeats, alert.loop.steps) == (10, 4)
    assert alert.criterion.endswith("A repeat that leads to another place and back counts half.")
    assert loops(settled().repeat(4, *out_and_back).repeat(2, (PLACE,), (COLLECT,))) == []
    assert loops(settled().repeat(4, *out_and_back).repeat(3, (PLACE,), (COLLECT,))) != []


def test_a_loop_without_reward_is_no_finding():
    no_drink = replace(DEFAULT, achievement_count_weights={"collect_drink": 0.0})
    assert loops(Story(no_drink).unlock_all().repeat(60, DRINK)) == []


def test_a_custom_bonus_is_found_without_counts():
    (alert,) = loops(Story(RewardConfig()).repeat(20, (To(at=(8, 9)),), (To(at=(9, 9)),), pay=0.5))
    assert alert.loop is not None
    assert (alert.loop.names, alert.loop.steps) == (("made_up",), 2)
