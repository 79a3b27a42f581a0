"""A loop that pays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.analysis.audit import Alert, AuditThresholds, audit
from core.types import Episode, RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To

DRINK = (To(done="collect_drink"),)
PLACE, COLLECT = To({"stone": -1}, "place_stone"), To({"stone": 1}, "collect_stone")


def loops(story: Story, **thresholds: Any) -> list[Alert]:
    return [a for a in audit(story.episode, AuditThresholds(**thresholds)) if a.rule == "paying_loop"]


def settled() -> Story:
    """Everything unlocked, one stone held."""
    return Story().unlock_all().decide(To({"stone": 1}))


def test_drinking_again_and_again_is_a_loop_of_one_step():
    (alert,) = loops(Story().unlock_all().repeat(40, DRINK))
    assert alert.cycle is not None and alert.cycle.span is not None
    assert (alert.cycle.names, alert.cycle.steps, alert.cycle.laps) == (("collect_drink",), 1, 40)
    assert alert.cycle.gain == pytest.approx(0.06)
    assert alert.reward == pytest.approx(40 * 0.06)
    assert [
        (span.first_decision, span.last_decision, span.first_frame, span.last_frame) for span in alert.evidence
    ] == [(22, 61, 22, 62)]
    assert "40 laps of a loop (collect drink) paid 2.40, 0.06 each" in alert.sentence


def test_placing_and_collecting_in_turn_is_a_loop_of_two():
    (alert,) = loops(settled().repeat(10, (PLACE,), (COLLECT,)))
    assert alert.cycle is not None
    assert (alert.cycle.names, alert.cycle.steps, alert.cycle.laps) == (("collect_stone", "place_stone"), 2, 10)
    assert alert.cycle.gain == pytest.approx(0.05 + 0.10 + 0.15)


def test_laps_inside_one_decision_are_counted_each_and_their_reward_once():
    (alert,) = loops(Story().unlock_all().repeat(8, DRINK * 5))
    assert alert.cycle is not None
    assert (alert.cycle.laps, alert.cycle.steps) == (40, 1)
    assert alert.reward == pytest.approx(40 * 0.06)


def test_laps_that_do_not_end_with_a_decision_are_found_too():
    story = settled().repeat(8, (PLACE, COLLECT, PLACE), (COLLECT, PLACE, COLLECT))
    (alert,) = loops(story)
    assert alert.cycle is not None
    assert (alert.cycle.laps, alert.cycle.steps) == (24, 2)


def test_the_smallest_cycle_stands_for_a_loop_with_detours():
    story = settled().repeat(5, (PLACE,), (To(at=(3, 3)),), (To(at=(9, 9)),), (COLLECT,))
    (alert,) = loops(story.repeat(5, (PLACE,), (COLLECT,)))
    assert alert.cycle is not None
    assert (alert.cycle.laps, alert.cycle.steps) == (10, 2)


def test_two_loops_are_two_alerts_and_the_one_that_pays_more_comes_first():
    story = settled().repeat(30, DRINK).repeat(30, (PLACE,), (COLLECT,))
    assert [a.cycle.names for a in loops(story) if a.cycle] == [("collect_stone", "place_stone"), ("collect_drink",)]


def test_drinking_back_what_thirst_took_is_none():
    sip = To({"drink": 1}, "collect_drink")
    sips = Story().unlock_all().repeat(40, (To({"drink": -1}),), (sip,))
    one_fill = Story().unlock_all().decide(To({"drink": -8})).repeat(8, (sip,))
    assert loops(sips) == loops(one_fill, loop_laps=1, loop_worth=0.0) == []


def test_digging_on_through_rock_is_none_for_it_leaves_another_ground_behind():
    story = settled()
    for ground in range(2, 60):  # as somebody does who carries all that can be carried
        story.decide(To({}, "collect_stone", ground=ground)).decide(To(at=(ground, 9)))
    assert loops(story) == []


def test_digging_out_all_that_can_be_reached_from_one_place_is_none():
    story = settled()
    for x in range(20):
        story.decide(To(at=(x, 9)))
        for side in range(4):
            story.decide(To({}, "collect_stone", ground=100 + 4 * x + side))
    assert loops(story, loop_worth=0.0) == []


def test_drinking_at_one_place_is_a_loop_though_the_ground_in_view_is_another_each_time():
    story = Story().unlock_all()
    for ground in range(2, 42):
        story.decide(To({}, "collect_drink", ground=ground))
    (alert,) = loops(story)
    assert alert.cycle is not None
    assert (alert.cycle.names, alert.cycle.steps, alert.cycle.laps) == (("collect_drink",), 1, 40)
    assert alert.reward == pytest.approx(40 * 0.06)


def test_coming_back_to_drink_is_a_loop_though_the_ground_in_view_is_another_each_time():
    story = Story().unlock_all()
    for ground in range(2, 32):
        story.decide(To(at=(8, 9), ground=ground)).decide(To(at=(9, 9))).decide(*DRINK * 2)
    (alert,) = loops(story)
    assert alert.reward == pytest.approx(30 * 2 * 0.06)


def test_night_and_creatures_that_pass_by_change_nothing_about_a_loop():
    still = Story().unlock_all().repeat(40, DRINK).episode
    busy = Story().unlock_all()
    for step in range(40):
        busy.decide(To({}, "collect_drink", clock=7, creature=step % 9))
    (alert,) = loops(busy)
    (same,) = [a for a in audit(still) if a.rule == "paying_loop"]
    assert alert == same


def test_waking_up_where_one_slept_is_none():
    night = Story().unlock_all().decide(To({"energy": -1}))
    night.decide(To(asleep=True)).decide(To({"energy": 1}, asleep=True)).decide(To(done="wake_up"))
    assert loops(night, loop_laps=1, loop_worth=0.0) == []


def test_what_unlocks_something_is_none():
    assert loops(Story().repeat(1, DRINK), loop_laps=1, loop_worth=0.0) == []
    assert loops(Story().unlock_all(), loop_laps=1, loop_worth=0.0) == []


def test_a_loop_in_decisions_that_also_unlock_something_is_found_and_paid_without_the_unlock():
    story = Story()
    for name in ("collect_drink", "collect_wood", "place_table", "eat_cow"):
        story.decide(To(done=name), *DRINK * 10)
    (alert,) = loops(story)
    assert alert.cycle is not None
    assert (alert.cycle.names, alert.cycle.laps) == (("collect_drink",), 40)
    assert alert.reward == pytest.approx(40 * 0.06)
    assert sum(span.reward for span in alert.evidence) == pytest.approx(40 * 0.06)


def test_loops_in_turn_are_counted_once_each():
    story = settled().repeat(30, DRINK, (PLACE,), DRINK, (COLLECT,))
    found = loops(story)
    concerned = [i for a in found for span in a.evidence for i in range(span.first_decision, span.last_decision + 1)]
    assert len(concerned) == len(set(concerned))
    assert sum(a.reward for a in found) == pytest.approx(30 * (0.30 + 2 * 0.06))


def test_several_things_in_turn_in_one_decision_are_one_loop_of_all_of_them():
    (alert,) = loops(settled().repeat(10, (*DRINK, PLACE, COLLECT)))
    assert alert.cycle is not None
    assert alert.cycle.names == ("collect_drink", "collect_stone", "place_stone")
    assert alert.reward == pytest.approx(10 * 0.21)  # no stone more at the end of a decision


def test_two_loops_in_the_same_decisions_are_one_alert_with_its_own_pay():
    search = To({}, "collect_sapling")
    (alert,) = loops(Story().unlock_all().repeat(40, (*DRINK, *DRINK, search)))
    assert alert.cycle is not None
    assert (alert.cycle.names, alert.cycle.laps) == (("collect_drink",), 80)
    assert alert.reward == pytest.approx(80 * 0.06)


def test_what_is_left_after_the_best_loop_has_its_decisions_may_be_too_little_for_another():
    all_three = ("collect_drink", "collect_stone", "place_stone")
    story = settled().repeat(10, (*DRINK, PLACE, COLLECT)).repeat(10, DRINK)
    assert [a.cycle.names for a in loops(story) if a.cycle] == [all_three]
    more = settled().repeat(10, (*DRINK, PLACE, COLLECT)).repeat(20, DRINK)
    assert [a.cycle.names for a in loops(more) if a.cycle] == [all_three, ("collect_drink",)]
    assert [a.reward for a in loops(more)] == [pytest.approx(2.1), pytest.approx(1.2)]


def test_what_a_decision_with_a_lap_is_paid_for_other_things_is_not_the_loops():
    (alert,) = loops(Story().unlock_all().repeat(20, (*DRINK, To({"wood": 1}, "collect_wood"))), loop_worth=0.0)
    assert alert.reward == pytest.approx(20 * 0.06)


def test_a_way_back_that_takes_too_long_is_none():
    story = settled()
    for change in [PLACE, COLLECT] * 20:
        story.decide(change).repeat(15, (To(at=(3, 3)),)).decide(To(at=(9, 9)))
    assert loops(story) != []
    assert loops(story, loop_lap_steps=10) == []


def test_too_few_laps_are_none():
    story = settled().repeat(4, (PLACE,), (COLLECT,))
    assert loops(story) == []
    assert loops(story, loop_laps=4) != []


def test_laps_that_lead_to_another_place_and_back_count_half():
    out_and_back = (COLLECT,), (To(at=(9, 8)),), (To(at=(9, 9)),), (PLACE,)
    few, enough = settled().repeat(9, *out_and_back), settled().repeat(10, *out_and_back)
    assert loops(few) == []
    (alert,) = loops(enough)
    assert alert.cycle is not None
    assert (alert.cycle.laps, alert.cycle.steps) == (10, 4)
    assert alert.criterion.endswith("A lap that leads to another place and back counts half.")
    assert loops(settled().repeat(4, *out_and_back).repeat(2, (PLACE,), (COLLECT,))) == []
    assert loops(settled().repeat(4, *out_and_back).repeat(3, (PLACE,), (COLLECT,))) != []


def test_laps_that_pay_too_little_are_none():
    story = Story().unlock_all().repeat(10, DRINK)
    assert loops(story) == []
    assert loops(story, loop_worth=0.4) != []


def test_laps_that_lie_far_apart_are_none():
    story = settled()
    for _ in range(10):
        story.decide(PLACE).decide(COLLECT).repeat(40, (To(at=(3, 3)),)).decide(To(at=(9, 9)))
    assert loops(story) != []
    assert loops(story, loop_window=100) == []


def test_a_loop_that_pays_nothing_is_none():
    no_drink = replace(DEFAULT, achievement_count_weights={"collect_drink": 0.0})
    assert loops(Story(no_drink).unlock_all().repeat(60, DRINK)) == []


def test_a_bonus_of_a_strategy_of_ones_own_is_found_without_any_count():
    (alert,) = loops(Story(RewardConfig()).repeat(20, (To(at=(8, 9)),), (To(at=(9, 9)),), pay=0.5))
    assert alert.cycle is not None
    assert (alert.cycle.names, alert.cycle.steps) == (("made_up",), 2)


def test_without_positions_the_world_digest_decides():
    episode = Story().unlock_all().repeat(40, DRINK).episode
    assert [a for a in audit(without_positions(episode)) if a.rule == "paying_loop"] == []  # the counts are part of it
    still = Story(RewardConfig()).repeat(20, (To(),), pay=0.5).episode
    assert [a.cycle.laps for a in audit(without_positions(still)) if a.cycle] == [20]


def without_positions(episode: Episode) -> Episode:
    def bare(decision):
        steps = (
            replace(step, state=replace(step.state, facts=replace(step.state.facts, position=None)))
            for step in decision.steps
        )
        return replace(decision, steps=tuple(steps), before=replace(decision.before, position=None))

    initial = episode.initial and replace(episode.initial, facts=replace(episode.initial.facts, position=None))
    return replace(episode, initial=initial, decisions=tuple(map(bare, episode.decisions)))
