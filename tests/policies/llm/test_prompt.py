"""The prompt: the rules of the game, the remembered decisions and the newest observation."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation, observation_text
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, MAKE, PLACE
from core.policies.llm.prompt import default_system_prompt, messages, remembered_count
from core.policies.tools import parse_response
from core.types import ModelCall, PolicyReply
from tests.support.model.answers import call, completion, decision_of

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
    "an_unknown_field": {"deep": [1]},
}


@pytest.fixture(scope="module")
def now() -> Observation:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    return env.observation(step_limit=10)


def prompt(now: Observation, *bodies: dict[str, Any], remembered: int = 8, **more: Any) -> list[dict[str, Any]]:
    answers = [(parse_response({"status": 200, "body": body}), json.dumps(body)) for body in bodies]
    history = [
        decision_of(index, PolicyReply(read.tool_calls, ModelCall("host", "m", {}, text, error_kind=read.error_kind)))
        for index, (read, text) in enumerate(answers)
    ]
    return messages("rules", history, now, remembered=remembered, **{"picture": None, "with_text": True, **more})


GOOD = completion(call('{"actions": ["noop"]}'))


def test_the_rules_name_every_action_recipe_and_achievement():
    rules = default_system_prompt(5)
    for name in (*ACTIONS, *ACHIEVEMENTS, *(f"make_{item}:" for item in MAKE), *(f"place_{item}:" for item in PLACE)):
        assert name in rules
    for material, rule in COLLECT.items():
        assert re.search(f"^{material}", rules, re.MULTILINE)
        assert all(tool in rules for tool in rule.requires)
    assert "1 to 5 actions" in rules


@pytest.mark.parametrize(("remembered", "expected"), [(0, 0), (2, 2), (8, 5), (16, 5)])
def test_a_prompt_contains_the_remembered_decisions(now: Observation, remembered: int, expected: int):
    system, first, *later = prompt(now, *[GOOD] * 5, remembered=remembered)
    assert system == {"role": "system", "content": "rules"} and first["role"] == "user"
    assert [message["role"] for message in later] == ["assistant", "tool"] * expected


def test_when_the_history_is_full_its_older_half_is_dropped_at_once():
    assert [remembered_count(index, 8) for index in range(14)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5]


def test_each_prompt_begins_like_the_previous_one_without_its_observation(now: Observation):
    prompts = [prompt(now, *[GOOD] * count) for count in range(6)]
    for earlier, later in zip(prompts, prompts[1:], strict=False):
        assert later[: len(earlier) - 1] == earlier[:-1]
        assert earlier[-1]["content"] == f"{later[len(earlier) - 1]['content']}\n\n{observation_text(now)}"


def test_only_the_newest_observation_is_sent_in_full(now: Observation):
    text = json.dumps(prompt(now, *[GOOD] * 5))
    assert text.count("Vitals") == 1 and prompt(now, *[GOOD] * 5)[-1]["content"].endswith(observation_text(now))


def test_the_assistants_message_is_sent_back_unchanged(now: Observation):
    body = {"choices": [{"message": MESSAGE, "finish_reason": "tool_calls"}]}
    *_, answer, result = prompt(now, body)
    assert answer == MESSAGE
    assert (result["role"], result["tool_call_id"]) == ("tool", "xYz123456")


def test_each_call_has_its_result(now: Observation):
    *_, answer, first, second = prompt(now, completion(*(call('{"actions": ["do"]}', call_id=id_) for id_ in "ab")))
    assert (
        [each["id"] for each in answer["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]] == ["a", "b"]
    )


def test_a_call_without_an_id_gets_one_of_nine_letters_and_digits(now: Observation):
    body = completion(*(call('{"actions": ["do"]}', call_id="") for _ in range(2)))
    *_, answer, first, second = prompt(now, GOOD, body)
    ids = [each["id"] for each in answer["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]] and len(set(ids)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id_) for id_ in ids)
    assert prompt(now, GOOD, body)[-3] == answer  # the same each time


def test_arguments_that_are_not_json_are_not_sent_back(now: Observation):
    *_, answer, _ = prompt(now, completion(call('{"actions": ["do"')))
    assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {"actions": [], "reasoning": ""}


def test_a_call_in_text_is_sent_back_as_text_with_its_result_as_a_user_message(now: Observation):
    text = '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
    *_, answer, result = prompt(now, completion(content=text, finish="stop"))
    assert (answer["content"], "tool_calls" in answer, result["role"]) == (text, False, "user")


def test_a_call_in_the_reasoning_is_sent_back_as_a_call(now: Observation):
    thought = '<tool_call>{"name": "interact", "arguments": {"actions": ["do"]}}</tool_call>'
    *_, answer, result = prompt(now, completion(content="", reasoning_content=thought, finish="stop"))
    assert answer["reasoning_content"] == thought and result["role"] == "tool"
    assert json.loads(answer["tool_calls"][0]["function"]["arguments"])["actions"] == ["do"]


def test_of_a_decision_without_an_answer_only_the_result_is_sent(now: Observation):
    roles = [message["role"] for message in prompt(now, GOOD, {"error": {"message": "overloaded"}}, GOOD)]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


def test_a_picture_is_sent_in_a_user_message(now: Observation):
    url = "data:image/png;base64," + base64.b64encode(b"png").decode()
    first, later = prompt(now, picture=b"png", with_text=False), prompt(now, GOOD, picture=b"png")
    text, picture = first[-1]["content"]
    assert [message["role"] for message in first] == ["system", "user"]
    assert "Step 0 of 10." in text["text"] and picture["image_url"]["url"] == url
    assert [message["role"] for message in later[-2:]] == ["tool", "user"]
    assert later[-2]["content"].endswith(observation_text(now)) and later[-1]["content"][1]["image_url"]["url"] == url
    assert "image_url" not in json.dumps(prompt(now, GOOD, GOOD))
