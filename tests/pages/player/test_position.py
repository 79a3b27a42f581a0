"""Moving the player from Python before the browser has reported a frame."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.env import CrafterEnv
from core.scenes import pack_scenes
from pages.components.player import PlayerData, build_player_data
from tests.support.player_episodes import decision_of, episode_of, step_of


@pytest.fixture(scope="module")
def data() -> PlayerData:
    """Four frames."""
    env = CrafterEnv(observe=False)
    env.reset(seed=42)
    scenes = [env.scene()]
    for _ in range(3):
        env.step(1)
        scenes.append(env.scene())
    steps = [step_of(index, "move_left") for index in range(3)]
    return build_player_data(pack_scenes(scenes), episode_of(decision_of(steps)))


def player_page(data) -> None:
    import streamlit as st  # noqa: PLC0415

    from pages.components.player import player  # noqa: PLC0415
    from pages.components.player.cursor import Cursor  # noqa: PLC0415
    from pages.components.player.position import go_to_frame, last_frame, picked_of, seek_of  # noqa: PLC0415

    if st.session_state.pop("go", False):
        go_to_frame("episode", Cursor(3, 2))
    st.session_state["left off"] = last_frame("episode"), picked_of("episode")
    st.session_state["shown"] = player(data, key="player", start_step=1, seek=seek_of("episode"))


def sent(at: AppTest) -> dict[str, Any]:
    """What the browser gets."""
    assert not at.exception
    (component,) = at.get("bidi_component")
    return json.loads(component.proto.json)


def test_a_seek_from_before_the_player_appeared_counts_as_done(data: PlayerData):
    at = AppTest.from_function(player_page, args=(data,))
    at.session_state["seek:episode"] = {"step": 3, "nonce": 7}
    at.run()
    assert (sent(at)["start"], sent(at)["done"]) == (1, 7)
    assert at.session_state["shown"] == 1


def test_a_seek_before_the_first_report_is_sent_and_moves_the_panels(data: PlayerData):
    at = AppTest.from_function(player_page, args=(data,)).run()
    at.session_state["go"] = True
    at.run()
    assert (sent(at)["start"], sent(at)["done"], sent(at)["seek"]) == (1, None, {"step": 3, "nonce": 1})
    assert at.session_state["shown"] == 3


def test_a_player_that_appears_after_a_seek_starts_at_its_frame(data: PlayerData):
    at = AppTest.from_function(player_page, args=(data,))
    at.session_state["go"] = True
    at.run()
    frame, picked = at.session_state["left off"]
    assert (frame, picked.decision) == (3, 2)
