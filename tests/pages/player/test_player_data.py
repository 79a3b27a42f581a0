"""What is sent to the player in the browser."""

from __future__ import annotations

import base64
import gzip
import json
import pickle
from typing import Any

import pytest

from core.env import CrafterEnv
from core.errors import InvalidInput
from core.scenes import pack_scenes, unpack_scenes
from pages.components.player import DecisionHud, PlayerData, StepHud, build_player_data

STEPS = [StepHud("move_left", 0.0), StepHud("do", 1.0), StepHud("do", -0.1)]


@pytest.fixture(scope="module")
def packed() -> bytes:
    """The world after reset and after three steps."""
    env = CrafterEnv(observe=False)
    env.reset(seed=42)
    scenes = [env.scene()]
    for action in (1, 5, 5):
        env.step(action)
        scenes.append(env.scene())
    return pack_scenes(scenes)


def read(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def hud(data: PlayerData) -> dict[str, Any]:
    return json.loads(read(data.hud))


def test_there_is_a_frame_for_reset_and_one_for_each_step(packed: bytes) -> None:
    data = build_player_data(packed, STEPS, [], [])
    assert data.frames == 4
    assert unpack_scenes(read(data.scenes)) == unpack_scenes(packed)


def test_actions_are_sent_as_numbers_into_a_list_of_names(packed: bytes) -> None:
    sent = hud(build_player_data(packed, STEPS, [], []))
    assert [sent["actions"][code] for code in sent["action"]] == ["move_left", "do", "do"]
    assert sent["envReward"] == [0.0, 1.0, -0.1]


def test_an_unlock_is_sent_with_the_frame_that_shows_it(packed: bytes) -> None:
    sent = hud(build_player_data(packed, STEPS, [], [(1, "collect_wood"), (0, "wake_up")]))
    assert sent["unlocks"] == [[1, "wake_up"], [2, "collect_wood"]]


def test_steps_that_have_no_scene_yet_are_left_out(packed: bytes) -> None:
    early = pack_scenes(unpack_scenes(packed)[:2])
    decisions = [DecisionHud(0, 2, 1.0), DecisionHud(2, 3, 0.5)]
    data = build_player_data(early, STEPS, decisions, [(0, "wake_up"), (1, "collect_wood")])
    assert data.frames == 2
    assert len(hud(data)["action"]) == 1
    assert (hud(data)["start"], hud(data)["end"]) == ([0], [1])
    assert hud(data)["unlocks"] == [[1, "wake_up"]]


def test_a_reward_that_is_no_number_does_not_break_the_page(packed: bytes) -> None:
    decisions = [DecisionHud(0, 1, float("nan")), DecisionHud(1, 3, float("inf"))]
    assert hud(build_player_data(packed, STEPS, decisions, []))["reward"] == [None, None]


def test_any_text_of_a_trace_can_be_sent(packed: bytes) -> None:
    text = "</script>\x00\ud800 \u202e ü"
    assert hud(build_player_data(packed, STEPS, [DecisionHud(0, 1, 0.0, reasoning=text)], []))["reasoning"] == [text]


def test_equal_content_has_an_equal_digest_and_other_content_another(packed: bytes) -> None:
    first = build_player_data(packed, STEPS, [], [])
    assert build_player_data(packed, STEPS, [], []) == first
    assert build_player_data(packed, STEPS, [DecisionHud(0, 1, 0.5)], []).digest != first.digest


def test_it_can_be_cached_by_streamlit(packed: bytes) -> None:
    data = build_player_data(packed, STEPS, [], [])
    assert pickle.loads(pickle.dumps(data)) == data


def test_corrupt_scenes_are_refused(packed: bytes) -> None:
    with pytest.raises(InvalidInput, match="corrupt"):
        build_player_data(packed[:-1], STEPS, [], [])


def test_an_episode_without_a_scene_has_no_frame() -> None:
    assert build_player_data(pack_scenes([]), [], [], []).frames == 0
