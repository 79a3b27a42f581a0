"""Episodes with a model's server that fails on purpose (llmock)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.env import CrafterEnv
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rollout import NoRecorder, run_episode
from core.types import EnvConfig, Episode, EpisodeSpec, Limits, PolicySpec, StopReason

SPEC = EpisodeSpec(
    seed=1,
    policy=PolicySpec("llm"),
    policy_seed=1,
    env=EnvConfig(area=(24, 24)),
    limits=Limits(max_steps=20, max_decisions=2),
)


def played(llmock: Any, **params: Any) -> Episode:
    """Two decisions. The server answers in text once it has seen a tool's result, so nothing is remembered."""
    settings = {"base_url": f"{llmock.url}/v1", "model": "gpt-4o-mini", "history": 0, **params}
    policy = make_policy(PolicySpec("llm", settings), seed=1, max_actions=5)
    env = CrafterEnv(area=SPEC.env.area, observe=False)
    episode = run_episode(
        replace(SPEC, policy=PolicySpec("llm", settings)), env, policy, RewardShaper(SPEC.reward), NoRecorder()
    )
    policy.close()
    return episode


def test_a_schema_valid_call_is_played(llmock: Any):
    episode = played(llmock)
    assert episode.stop_reason is StopReason.MAX_DECISIONS and episode.length >= 2
    call = episode.decisions[0].model_call
    assert call is not None and call.tokens_in and call.error_kind is None


def test_a_rate_limit_is_waited_out_as_the_server_says(llmock: Any):
    llmock.rate_limit(times=1, retry_after=1)
    episode = played(llmock)
    assert episode.stop_reason is StopReason.MAX_DECISIONS
    call = episode.decisions[0].model_call
    assert call is not None and [attempt.status for attempt in call.attempts] == [429, 200] and call.retries == 1
    assert call.latency_ms is not None and call.latency_ms >= 900
    llmock.assert_resilient()


@pytest.mark.parametrize(
    ("status", "kind"), [(500, "provider_error"), (503, "provider_error"), (401, "auth"), (404, "not_found")]
)
def test_an_outage_fails_the_episode_with_its_kind(llmock: Any, status: int, kind: str):
    llmock.fail(status, times=None)
    episode = played(llmock, http_retries=0)
    assert episode.stop_reason is StopReason.POLICY_ERROR
    assert episode.outcome is not None and episode.outcome.error is not None
    assert episode.outcome.error.kind == kind
    assert episode.decisions[0].model_call is not None and episode.decisions[0].model_call.status == status


@pytest.mark.parametrize(
    ("fault", "kinds"), [("malformed_arguments", ("truncated", "bad_arguments")), ("unknown_tool", ("unknown_tool",))]
)
def test_a_broken_call_is_asked_for_again(llmock: Any, fault: str, kinds: tuple[str, ...]):
    llmock.break_tool_call(fault, times=1)
    episode = played(llmock, on_bad_call="retry")
    assert episode.stop_reason is StopReason.MAX_DECISIONS
    call = episode.decisions[0].model_call
    assert call is not None and len(call.earlier) == 1 and call.earlier[0].error_kind in kinds


def test_a_prompt_that_is_too_long_is_reported(llmock: Any):
    llmock.context_overflow()
    episode = played(llmock)
    assert episode.outcome is not None and episode.outcome.error is not None
    assert episode.outcome.error.kind == "context_overflow"
