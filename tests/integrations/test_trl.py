"""The tool environment that TRL's trainer makes for each completion."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

from core.env import CrafterEnv
from core.env.rules import ACTION_INDEX
from core.integrations.trl import CrafterToolEnv
from core.rewards import RewardConfig, RewardShaper
from core.types import EnvConfig

SMALL = EnvConfig(area=(24, 24), length=6)


def test_it_plays_and_scores_what_the_engine_and_the_shaper_do():
    tool = CrafterToolEnv(SMALL)
    env, shaper = CrafterEnv.from_config(SMALL, observe=False), RewardShaper(RewardConfig("per_achievement"))
    env.reset(seed=3)
    assert "Step 0 of 6" in tool.reset(seed=3, prompt="ignored")
    expected = 0.0
    for actions in (["move_left", "do"], ["do"]):
        text = tool.interact(actions, reasoning="why")
        before = env.facts()
        for action in actions:
            env.step(ACTION_INDEX[action])
        expected += shaper.score(before, env.facts()).total
    assert "Step 3 of 6" in text
    assert tool.get_reward() == pytest.approx(expected)


def test_unknown_actions_are_named_and_an_episode_that_is_over_says_so():
    tool = CrafterToolEnv(SMALL)
    tool.reset(seed=3)
    assert "Unknown actions: fly" in tool.interact(["fly", "noop"])
    assert "Step 6 of 6" in tool.interact(["noop"] * 20)
    assert tool.interact(["noop"]) == "The episode is over."
    assert "Step 0 of 6" in tool.reset() and tool.get_reward() == 0.0


def test_hints_and_docstring_make_a_schema():
    assert get_type_hints(CrafterToolEnv.interact) == {"actions": list[str], "reasoning": str, "return": str}
    documentation = inspect.getdoc(CrafterToolEnv.interact) or ""
    assert "Args:" in documentation and "actions:" in documentation and "Returns:" in documentation
    tools = [name for name, _ in inspect.getmembers(CrafterToolEnv, inspect.isfunction) if not name.startswith("_")]
    assert tools == ["get_reward", "interact", "reset"]
