"""The rules that a model is told are the game's own, and what it did before is told in the order in which it was."""

from __future__ import annotations

import base64

import pytest

from core.env import CrafterEnv
from core.env.observation import as_text
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, MAKE, PLACE
from core.policies.llm.prompt import default_system_prompt, messages
from core.types import Decision, RewardBreakdown, StateFacts, Timing, ToolCall


def _decision(index: int, *, calls: int = 1) -> Decision:
    call = ToolCall("interact", '{"actions": ["noop"]}', f"id_{index}", ("noop",), reasoning="wait")
    return Decision(
        index=index,
        observation=f"observation {index}",
        tool_calls=(call,) * calls,
        steps=(),
        not_executed=(),
        before=StateFacts(),
        reward=RewardBreakdown("consistent", 1.0),
        unlocked=(),
        unique_unlocked=(),
        timing=Timing(0, 0, (), 0),
    )


def test_the_rules_name_every_action_recipe_and_achievement() -> None:
    rules = default_system_prompt(5)
    for name in (*ACTIONS, *ACHIEVEMENTS, *(f"make_{item}:" for item in MAKE), *(f"place_{item}:" for item in PLACE)):
        assert name in rules
    for material, rule in COLLECT.items():
        assert f"{material}: gives {', '.join(f'{n} {item}' for item, n in rule.receives.items())}" in rules
    assert "1 to 5 actions" in rules


@pytest.mark.parametrize("remembered", [0, 2, 8, 16])
def test_as_many_decisions_are_told_as_are_remembered(remembered: int) -> None:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    now = env.observation(step_limit=10)
    history = [_decision(index) for index in range(5)]
    told = messages("rules", history, now, remembered=remembered, picture=None, with_text=True)
    assert told[0] == {"role": "system", "content": "rules"}
    assert told[-1] == {"role": "user", "content": as_text(now)}
    assert [message["role"] for message in told[1:-1]] == ["user", "assistant", "tool"] * min(remembered, 5)
    assert [m["content"] for m in told[1:-1] if m["role"] == "user"] == [
        f"observation {index}" for index in range(5 - min(remembered, 5), 5)
    ]


def test_each_call_has_its_result() -> None:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    told = messages(
        "", [_decision(0, calls=2)], env.observation(step_limit=9), remembered=4, picture=b"", with_text=True
    )
    said = next(message for message in told if message["role"] == "assistant")
    results = [message for message in told if message["role"] == "tool"]
    assert [call["id"] for call in said["tool_calls"]] == [result["tool_call_id"] for result in results]


def test_a_picture_goes_with_the_text() -> None:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    told = messages("", [], env.observation(step_limit=9), remembered=4, picture=b"png", with_text=False)
    text, picture = told[-1]["content"]
    assert text["text"] == "Step 0 of 9."
    assert picture["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(b"png").decode()
