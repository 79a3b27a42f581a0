"""The present page: the player and nothing else, or an error with a link."""

from __future__ import annotations

from core.store import TraceStore
from tests.support.episode_page import SCRIPTED, only_queued, spec_of
from tests.support.pages import opened, page_links, texts


def test_only_the_player_is_shown(recorded: TraceStore):
    at = opened("present", id=SCRIPTED, step="12")
    assert at.session_state[f"frame:{SCRIPTED}"] == 12
    assert not (at.button or at.metric or at.text or at.markdown or at.get("page_link"))


def test_an_invalid_step_shows_the_same_error_as_the_episode_page(recorded: TraceStore):
    at = opened("present", id=SCRIPTED, step="abc")
    assert at.session_state[f"frame:{SCRIPTED}"] == 0
    assert any('Invalid step in the URL: "abc"' in text for text in texts(at))


def test_an_episode_without_a_frame_links_back(empty: TraceStore):
    queued = only_queued(empty, spec_of())
    at = opened("present", id=queued.id)
    assert any("No frame of this episode" in text for text in texts(at))
    assert "Back to the episode" in page_links(at)


def test_an_unknown_id_shows_an_error(recorded: TraceStore):
    assert any("0123456789ab" in text for text in texts(opened("present", id="0123456789ab")))
