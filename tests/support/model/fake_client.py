"""Episodes of a language model with answers that a test writes, played by the real loop into a real store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.env import CrafterEnv
from core.policies.llm import LlmParams, LlmPolicy
from core.policies.llm.client import Answer, ShouldStop
from core.policies.llm.endpoint import endpoint_of
from core.policies.tools.errors import Failure
from core.rewards import RewardShaper
from core.rollout import run_episode
from core.store import TraceStore
from core.types import EnvConfig, Episode, EpisodeSpec, Limits, PolicySpec, RewardConfig
from tests.support.model.server import calls
from tests.support.records import make_run


class FakeClient:
    """Gives its answers in order, the last one repeatedly; records the requests."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = list(answers)

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        self.requests.append(request)
        if should_stop():
            return Answer(None, failure=Failure("stopped", "The call was abandoned because the episode was stopped."))
        return self._answers[min(len(self.requests), len(self._answers)) - 1]

    def close(self) -> None: ...


LLM_PARAMS: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "model": "asked-model", "system_prompt": "Play."}


def answer(*actions: str, **more: Any) -> Answer:
    """A good answer of the model `tiny-model`."""
    return Answer(200, text=json.dumps(calls(*actions, **more)))


def says(message: dict[str, Any], *, finish_reason: str = "stop", **more: Any) -> Answer:
    """An answer with this message."""
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}], **more}
    return Answer(200, text=json.dumps(body))


def play_model(
    store: TraceStore,
    episode_id: str,
    answers: Sequence[Answer],
    *,
    decisions: int | None = None,
    max_steps: int = 100_000,
    minutes: int = 0,
    **params: Any,
) -> tuple[Episode, FakeClient]:
    """Launch a run of one episode, `run-of-<id>`, and play it; by default with a decision for each answer."""
    policy_params = LlmParams(**{**LLM_PARAMS, **params})
    spec = EpisodeSpec(
        seed=42,
        policy=PolicySpec("llm", {**LLM_PARAMS, **params}),
        policy_seed=0,
        env=EnvConfig(area=(32, 32)),
        reward=RewardConfig(strategy="per_achievement"),
        limits=Limits(max_steps=max_steps, max_decisions=decisions or len(answers)),
    )
    fields = {name: getattr(spec, name) for name in ("seed", "policy", "policy_seed", "env", "reward", "limits")}
    run_id = f"run-of-{episode_id}"
    store.runs.create(make_run(run_id, [episode_id], minutes=minutes, **fields))
    store.queue.claim_next(worker="test", run_id=run_id)
    client = FakeClient(answers)
    policy = LlmPolicy(policy_params, lambda: (endpoint_of(policy_params.base_url), client), max_actions=5)
    episode = run_episode(
        store.episodes.get(episode_id).spec,
        CrafterEnv.from_config(spec.env, observe=False),
        policy,
        RewardShaper(spec.reward),
        store.recorder(episode_id),
        episode_id=episode_id,
        run_id=run_id,
    )
    return episode, client
