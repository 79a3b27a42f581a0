"""The frames and decisions of an episode."""

from __future__ import annotations

import pytest

from core.analysis.audit.trail import MAX_EVIDENCE, Trail, runs, span, strongest
from tests.support.audit_episodes import Story, To, played

STEP = To()


def test_frames_count_from_the_state_after_reset():
    trail = Trail(Story().decide(STEP, STEP).decide().decide(STEP).episode)
    assert [(entry.first_frame, entry.last_frame) for entry in trail.entries] == [(0, 2), (2, 2), (2, 3)]
    assert len(trail.states) == 4
    assert [entry.index for entry in trail.entry_of_step] == [0, 0, 2]


@pytest.mark.parametrize("before", [To({}, "collect_drink"), To(clock=5)])
def test_a_count_or_clock_that_falls_is_a_new_world(before: To):
    assert set(Trail(played("random", 0, 400)).worlds) == {0}
    story = Story().decide(STEP).decide(before).decide(To(new_world=True, clock=0)).decide(STEP)
    assert Trail(story.episode).worlds == [0, 0, 0, 1, 1]


def test_consecutive_decisions_are_one_run():
    entries = Trail(Story().repeat(6, (STEP,)).episode).entries
    chosen = [entries[0], entries[1], entries[3], entries[5]]
    assert [[entry.index for entry in run] for run in runs(chosen)] == [[0, 1], [3], [5]]


def test_the_strongest_evidence_is_kept_in_order_of_time():
    entries = Trail(Story().repeat(50, (STEP,)).episode).entries
    spans = strongest(span([entry], "", reward=entry.index % 10) for entry in entries)
    assert len(spans) == MAX_EVIDENCE
    assert [one.first_decision for one in spans] == [n for n in range(50) if n % 10 >= 6]


def test_an_unlock_is_worth_the_mean_of_what_unlocks_pay():
    assert Trail(Story().episode).unlock_worth == pytest.approx(28.20 / 22, abs=0.01)
