"""The estimate of a launch: rough, but from the same texts that are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import observation_text
from core.policies.llm import LlmParams, estimate
from core.policies.llm.client import Answer
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.estimate import OBSERVATION_CHARACTERS
from core.policies.llm.policy import LlmPolicy
from tests.support.model.fake_client import FakeClient
from tests.support.model.server import calls


def params(**more: Any) -> LlmParams:
    return LlmParams(**{"base_url": "http://127.0.0.1:9", "model": "tiny-model", **more})


def test_the_assumed_length_of_an_observation_is_about_right():
    env = CrafterEnv(observe=False)
    env.reset(seed=3)
    assert len(observation_text(env.observation(step_limit=1000))) == pytest.approx(OBSERVATION_CHARACTERS, rel=0.1)


def test_the_estimate_of_a_first_call_is_about_right():
    env = CrafterEnv(observe=False)
    env.reset(seed=3)
    client = FakeClient([Answer(200, text=json.dumps(calls("noop")))])
    policy = LlmPolicy(params(), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    policy.decide(env.observation(step_limit=1000), ())
    (sent,) = client.requests
    characters = len(json.dumps([sent["messages"], sent["tools"]]))
    one = estimate(params(), episodes=1, decisions=1, max_actions=5)
    assert one.tokens_in == pytest.approx(characters / 4, rel=0.15)


def test_remembered_decisions_add_tokens():
    forgetful = estimate(params(history=0), episodes=3, decisions=10, max_actions=5)
    mindful = estimate(params(history=8), episodes=3, decisions=10, max_actions=5)
    assert forgetful.calls == mindful.calls == 30
    one = estimate(params(), episodes=1, decisions=1, max_actions=5)
    assert forgetful.tokens_in == 30 * one.tokens_in
    remembered = 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 5
    assert mindful.tokens_in - forgetful.tokens_in == 3 * remembered * (80 + 20)
    assert estimate(
        params(history=3), episodes=1, decisions=12, max_actions=5
    ).tokens_in == 12 * one.tokens_in + 100 * (0 + 1 + 2 + 3 + 2 + 3 + 2 + 3 + 2 + 3 + 2 + 3)


def test_a_picture_adds_tokens():
    text, picture, both = (
        estimate(params(observe=kind, history=0), episodes=1, decisions=1, max_actions=5).tokens_in
        for kind in ("text", "picture", "both")
    )
    assert both > text and both > picture


def test_the_cost_of_an_unknown_model_is_unknown():
    known = params(base_url="https://api.openai.com/v1", model="gpt-4o-mini")
    estimated = estimate(known, episodes=2, decisions=10, max_actions=5)
    assert estimated.cost_usd == pytest.approx(estimated.tokens_in * 0.15e-6 + estimated.tokens_out * 0.6e-6, rel=0.01)
    assert estimate(params(), episodes=2, decisions=10, max_actions=5).cost_usd is None
    assert estimate(params(base_url=""), episodes=2, decisions=10, max_actions=5).cost_usd is None
