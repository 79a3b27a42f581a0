"""Which decision a frame shows, and reading the step of a URL."""

from __future__ import annotations

import pytest

from pages.components.player.cursor import Cursor, cursor_at, decision_at_frame, frame_from_text
from tests.support.records import DECISIONS, decision_summary


def test_a_frame_shows_the_decision_whose_step_led_to_it():
    assert [decision_at_frame(DECISIONS, frame) for frame in range(7)] == [0, 0, 0, 0, 1, 2, 2]
    assert decision_at_frame((decision_summary(0, 0, 0),), 0) == 0  # the only decision failed
    assert [Cursor(0, 0).step, Cursor(5, 0).step] == [None, 4]


def test_a_decision_without_a_step_is_shown_while_picked_and_the_frame_stays():
    picked = Cursor(DECISIONS[3].step_end, 3)
    assert cursor_at(DECISIONS, 6, picked).decision == 3
    assert cursor_at(DECISIONS, 5, picked).decision == 2
    assert cursor_at(DECISIONS, 6).decision == 2


def test_an_episode_without_decisions_shows_none():
    assert cursor_at((), 0) == Cursor(0, None)
    assert cursor_at((), 0, Cursor(0, 2)).decision is None


def test_a_url_may_name_any_frame_or_none():
    assert [frame_from_text(text, 10) for text in (None, "0", "9")] == [(None, ""), (0, ""), (9, "")]


@pytest.mark.parametrize(
    "text", ["-1", "+1", "1.0", " 1", "1_0", "\u0663", "\u00b2", "\uff11", "", "\ud83d", "twelve" * 99]
)
def test_only_digits_are_a_step(text: str):
    frame, problem = frame_from_text(text, 100)
    assert frame is None
    assert problem.startswith("Invalid step in the URL") and len(problem.encode("utf-8")) < 200


@pytest.mark.parametrize("text", ["10", "9" * 5_000])
def test_a_step_beyond_the_episode_is_reported_with_the_range(text: str):
    frame, problem = frame_from_text(text, 10)
    assert frame is None
    assert "is not in this episode, which has steps 0 to 9" in problem and len(problem) < 200
