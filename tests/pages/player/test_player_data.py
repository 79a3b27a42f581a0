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
from core.types import StateFacts
from pages.components.player import PlayerData, build_player_data
from tests.support.player_episodes import decision_of, episode_of, step_of

WOKE_UP = StateFacts({"wake_up": True}, {}, {})
BOTH = StateFacts({"wake_up": True, "collect_wood": True}, {}, {})
STEPS = [step_of(0, "move_left", 0.0, WOKE_UP), step_of(1, "do", 1.0, BOTH), step_of(2, "do", -0.1, BOTH)]
EPISODE = episode_of(decision_of(STEPS[:2], 1.0), decision_of(STEPS[2:], 0.5))


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


def test_frames_steps_decisions_and_unlocks_are_sent(packed: bytes):
    data = build_player_data(packed, EPISODE)
    assert data.frames == 4
    assert unpack_scenes(read(data.scenes)) == unpack_scenes(packed)
    sent = hud(data)
    assert [sent["actions"][code] for code in sent["action"]] == ["move_left", "do", "do"]
    assert sent["envReward"] == [0.0, 1.0, -0.1]
    assert (sent["start"], sent["end"], sent["reward"]) == ([0, 2], [2, 3], [1.0, 0.5])
    assert sent["unlocks"] == [[1, "wake_up"], [2, "collect_wood"]]  # the frames that show them


def test_steps_without_a_scene_yet_are_left_out(packed: bytes):
    data = build_player_data(pack_scenes(unpack_scenes(packed)[:2]), EPISODE)
    assert data.frames == 2
    assert len(hud(data)["action"]) == 1
    assert (hud(data)["start"], hud(data)["end"]) == ([0], [1])
    assert hud(data)["unlocks"] == [[1, "wake_up"]]


def test_rewards_that_are_not_finite_are_sent_as_null(packed: bytes):
    episode = episode_of(decision_of(STEPS[:1], float("nan")), decision_of(STEPS[1:], float("inf")))
    assert hud(build_player_data(packed, episode))["reward"] == [None, None]


def test_hostile_text_of_a_trace_is_sent_as_visible_text(packed: bytes):
    text = "</script>\x00\ud800 \u202e ü"
    decisions = (decision_of(STEPS, reasoning=text), decision_of((), error="x" * 10_000))
    sent = hud(build_player_data(packed, episode_of(*decisions)))
    assert sent["reasoning"] == ["</script>\ufffd? \\u202e ü", ""]
    assert len(sent["error"][1]) < 1_100


def test_equal_content_has_an_equal_digest_and_can_be_cached(packed: bytes):
    data = build_player_data(packed, EPISODE)
    assert pickle.loads(pickle.dumps(data)) == build_player_data(packed, EPISODE)
    assert build_player_data(packed, episode_of(decision_of(STEPS, 0.5))).digest != data.digest


def test_corrupt_scenes_are_refused(packed: bytes):
    with pytest.raises(InvalidInput, match="corrupt"):
        build_player_data(packed[:-1], EPISODE)


def test_an_episode_without_a_scene_has_no_frame():
    assert build_player_data(pack_scenes([]), episode_of()).frames == 0
