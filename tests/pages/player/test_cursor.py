"""Frames and decisions: which decision a frame shows, where a decision is shown, and what an address may say."""

from __future__ import annotations

import pytest

from pages.components.player.cursor import Cursor, cursor_at, decision_at_frame, frame_from_text, frame_of_decision
from tests.support.records import DECISIONS, decision_summary


def test_a_frame_shows_the_decision_whose_step_led_to_it():
    assert [decision_at_frame(DECISIONS, frame) for frame in range(7)] == [0, 0, 0, 0, 1, 2, 2]


def test_a_decision_is_shown_at_the_frame_of_its_result():
    assert [frame_of_decision(decision) for decision in DECISIONS] == [3, 4, 6, 6]


def test_a_decision_without_a_step_is_shown_for_as_long_as_it_is_picked_and_the_frame_stays():
    picked = Cursor(frame_of_decision(DECISIONS[3]), 3)
    assert cursor_at(DECISIONS, 6, picked).decision == 3
    assert cursor_at(DECISIONS, 5, picked).decision == 2
    assert cursor_at(DECISIONS, 6).decision == 2


def test_an_episode_whose_only_decision_failed_shows_it():
    assert decision_at_frame((decision_summary(0, 0, 0),), 0) == 0


def test_no_decision_is_shown_where_there_is_none():
    assert cursor_at((), 0) == Cursor(0, None)
    assert cursor_at((), 0, Cursor(0, 2)).decision is None


def test_the_step_of_a_frame_is_the_one_that_led_to_it():
    assert Cursor(0, 0).step is None
    assert Cursor(5, 0).step == 4


def test_an_address_without_a_step_says_nothing():
    assert frame_from_text(None, 10) == (None, "")


def test_an_address_may_name_any_frame():
    assert frame_from_text("0", 10) == (0, "")
    assert frame_from_text("9", 10) == (9, "")


def test_a_step_that_is_not_there_is_a_sentence_with_the_range():
    frame, problem = frame_from_text("10", 10)
    assert frame is None
    assert "Step 10 is not in this episode" in problem and "0 to 9" in problem


@pytest.mark.parametrize("text", ["-1", "+1", "1.0", " 1", "1_0", "\u0663", "\u00b2", "\uff11", "", "\ud83d"])
def test_only_digits_are_a_step(text: str):
    frame, problem = frame_from_text(text, 100)
    assert frame is None
    assert problem.encode("utf-8")


def test_a_step_of_thousands_of_digits_is_not_echoed():
    frame, problem = frame_from_text("9" * 5_000, 10)
    assert frame is None
    assert "is not in this episode" in problem and len(problem) < 200


def test_a_step_that_is_no_number_is_a_sentence_that_quotes_a_part_of_it():
    frame, problem = frame_from_text("twelve" * 100, 10)
    assert frame is None
    assert "twelve" in problem and len(problem) < 200
