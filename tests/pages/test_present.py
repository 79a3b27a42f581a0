"""The present page: the player and nothing else, or an error with a link."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.store import TraceStore
from tests.pages.conftest import empty
from tests.support import ROOT
from tests.support.episode_page import SCRIPTED, only_queued, spec_of, texts

__all__ = ["empty"]


def opened(**query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        at.query_params[name] = value
    at = at.switch_page("pages/present.py").run()
    assert not at.exception
    return at


def test_only_the_player_is_shown(recorded: TraceStore):
    at = opened(id=SCRIPTED, step="12")
    assert at.session_state[f"frame:{SCRIPTED}"] == 12
    assert not (at.button or at.metric or at.text or at.markdown or at.get("page_link"))


def test_an_invalid_step_shows_the_same_error_as_the_episode_page(recorded: TraceStore):
    at = opened(id=SCRIPTED, step="abc")
    assert at.session_state[f"frame:{SCRIPTED}"] == 0
    assert any('Invalid step in the URL: "abc"' in text for text in texts(at))


def test_an_episode_without_a_frame_links_back(empty: TraceStore):
    queued = only_queued(empty, spec_of())
    at = opened(id=queued.id)
    assert any("No frame of this episode" in text for text in texts(at))
    assert "Back to the episode" in [link.proto.label for link in at.get("page_link")]


def test_an_unknown_id_shows_an_error(recorded: TraceStore):
    assert any("0123456789ab" in text for text in texts(opened(id="0123456789ab")))
