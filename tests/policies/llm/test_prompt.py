"""The rules are the game's own; each prompt begins as the one before it and ends with what is new."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation, as_text
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, MAKE, PLACE
from core.policies.llm.prompt import default_system_prompt, messages, remembered_count
from core.policies.tools import parse_response
from core.types import Decision, ModelCall, RewardBreakdown, StateFacts, Timing
from tests.support.model.answers import call, completion

MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "reasoning_content": "",
    "reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}],
    "tool_calls": [
        {
            "id": "xYz123456",
            "type": "function",
            "index": 0,
            "function": {"name": "interact", "arguments": '{"actions":["noop"] }'},
            "extra_content": {"google": {"thought_signature": "c2lnbg=="}},
        }
    ],
    "a_field_that_nobody_knows": {"deep": [1]},
}


@pytest.fixture(scope="module")
def now() -> Observation:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    return env.observation(step_limit=10)


def decision(index: int, body: dict[str, Any]) -> Decision:
    """One that the world did not change in."""
    answer = parse_response({"status": 200, "body": body})
    return Decision(
        index=index,
        observation=f"observation {index}",
        tool_calls=answer.tool_calls,
        steps=(),
        not_executed=(),
        before=StateFacts(),
        reward=RewardBreakdown("consistent", 1.0),
        unlocked=(),
        unique_unlocked=(),
        timing=Timing(0, 0, (), 0),
        model_call=ModelCall("host", "m", {}, json.dumps(body), error_kind=answer.error_kind),
    )


def told(now: Observation, *bodies: dict[str, Any], remembered: int = 8, **more: Any) -> list[dict[str, Any]]:
    history = [decision(index, body) for index, body in enumerate(bodies)]
    return messages("rules", history, now, remembered=remembered, **{"picture": None, "with_text": True, **more})


GOOD = completion(call('{"actions": ["noop"]}'))


def test_the_rules_name_every_action_recipe_and_achievement() -> None:
    rules = default_system_prompt(5)
    for name in (*ACTIONS, *ACHIEVEMENTS, *(f"make_{item}:" for item in MAKE), *(f"place_{item}:" for item in PLACE)):
        assert name in rules
    for material, rule in COLLECT.items():
        assert re.search(f"^{material}", rules, re.MULTILINE)
        assert all(tool in rules for tool in rule.requires)
    assert "1 to 5 actions" in rules


@pytest.mark.parametrize(("remembered", "expected"), [(0, 0), (2, 2), (8, 5), (16, 5)])
def test_as_many_decisions_are_told_as_are_remembered(now: Observation, remembered: int, expected: int) -> None:
    system, first, *later = told(now, *[GOOD] * 5, remembered=remembered)
    assert system == {"role": "system", "content": "rules"} and first["role"] == "user"
    assert [message["role"] for message in later] == ["assistant", "tool"] * expected


def test_when_the_history_is_full_its_older_half_is_dropped_at_once() -> None:
    assert [remembered_count(index, 8) for index in range(14)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5]


def test_each_prompt_begins_as_the_one_before_it_but_for_its_observation(now: Observation) -> None:
    prompts = [told(now, *[GOOD] * count) for count in range(6)]
    for earlier, later in zip(prompts, prompts[1:], strict=False):
        assert later[: len(earlier) - 1] == earlier[:-1]
        assert earlier[-1]["content"] == f"{later[len(earlier) - 1]['content']}\n\n{as_text(now)}"


def test_only_the_newest_observation_is_told_in_full(now: Observation) -> None:
    text = json.dumps(told(now, *[GOOD] * 5))
    assert text.count("Vitals") == 1 and told(now, *[GOOD] * 5)[-1]["content"].endswith(as_text(now))


def test_the_message_of_the_assistant_goes_back_as_it_came(now: Observation) -> None:
    body = {"choices": [{"message": MESSAGE, "finish_reason": "tool_calls"}]}
    *_, said, result = told(now, body)
    assert said == MESSAGE
    assert (result["role"], result["tool_call_id"]) == ("tool", "xYz123456")


def test_each_call_has_its_result(now: Observation) -> None:
    *_, said, first, second = told(now, completion(*(call('{"actions": ["do"]}', call_id=id_) for id_ in "ab")))
    assert [made["id"] for made in said["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]] == ["a", "b"]


def test_a_call_without_an_id_gets_one_of_nine_letters_and_digits(now: Observation) -> None:
    body = completion(*(call('{"actions": ["do"]}', call_id="") for _ in range(2)))
    *_, said, first, second = told(now, GOOD, body)
    ids = [made["id"] for made in said["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]] and len(set(ids)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id_) for id_ in ids)
    assert told(now, GOOD, body)[-3] == said  # the same each time


def test_arguments_that_are_not_json_do_not_go_back(now: Observation) -> None:
    *_, said, _ = told(now, completion(call('{"actions": ["do"')))
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"actions": [], "reasoning": ""}


def test_a_call_in_the_text_goes_back_as_text_and_its_result_comes_from_the_user(now: Observation) -> None:
    text = '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
    *_, said, result = told(now, completion(content=text, finish="stop"))
    assert (said["content"], "tool_calls" in said, result["role"]) == (text, False, "user")


def test_a_call_in_the_reasoning_goes_back_as_a_call(now: Observation) -> None:
    thought = '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
    *_, said, result = told(now, completion(content="", reasoning_content=thought, finish="stop"))
    assert said["reasoning_content"] == thought and result["role"] == "tool"
    assert json.loads(said["tool_calls"][0]["function"]["arguments"])["actions"] == ["do"]


def test_a_decision_without_an_answer_leaves_only_its_result(now: Observation) -> None:
    roles = [message["role"] for message in told(now, GOOD, {"error": {"message": "overloaded"}}, GOOD)]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


def test_a_picture_goes_into_a_message_of_the_user(now: Observation) -> None:
    url = "data:image/png;base64," + base64.b64encode(b"png").decode()
    first, later = told(now, picture=b"png", with_text=False), told(now, GOOD, picture=b"png")
    text, picture = first[-1]["content"]
    assert [message["role"] for message in first] == ["system", "user"]
    assert "Step 0 of 10." in text["text"] and picture["image_url"]["url"] == url
    assert [message["role"] for message in later[-2:]] == ["tool", "user"]
    assert later[-2]["content"].endswith(as_text(now)) and later[-1]["content"][1]["image_url"]["url"] == url
    assert "image_url" not in json.dumps(told(now, GOOD, GOOD))
