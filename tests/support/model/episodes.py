"""Episodes that a model played, recorded from a scripted server on loopback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from core.env.rules import ENGINE_VERSION
from core.rollout import run_rollout
from core.store import TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec, QueuedEpisode, Run
from tests.support.model.server import ModelServer, Reply, calls, says

EPISODE = "a" * 32
RUN = "b" * 32
KEY = "sk-9dZq83hT5vKp21xWmBJ7"
HOSTILE = '![](http://example.org/x.png) <img src="http://example.org/y.png"> **bold** $a$'


def thinks(*actions: str, reasoning: str = "because", content: str | None = None, **usage: Any) -> dict[str, Any]:
    """A chat completion with reasoning of its own, content beside the call, and details of the usage."""
    body = calls(*actions)
    (choice,) = body["choices"]
    choice["message"] |= {"content": content, "reasoning_content": "The thinking before it."}
    choice["message"]["tool_calls"][0]["function"]["arguments"] = json.dumps(
        {"actions": list(actions), "reasoning": reasoning}
    )
    return {**body, "usage": {**body["usage"], **usage}}


def says_nothing_to_do() -> dict[str, Any]:
    """An answer without a tool call."""
    return {"model": "tiny-model", "choices": [{"index": 0, "message": {"content": HOSTILE}, "finish_reason": "stop"}]}


def record(
    store: TraceStore,
    replies: Sequence[Reply] = (),
    *,
    decisions: int = 3,
    budget: dict[str, Any] | None = None,
    others: int = 0,
    key: str = "",
    **params: Any,
) -> None:
    """One run of one episode that is played. budget: part of the run's configuration; only a worker looks at it.

    others: further queued episodes. key: the value of the key's variable during the episode.
    """
    with ModelServer(replies or (says(thinks("move_left", "do"), x_request_id="req_7"),)) as server:
        spec = EpisodeSpec(
            seed=42,
            policy=PolicySpec("llm", {"base_url": server.url, "model": "tiny-model", **params}),
            policy_seed=1,
            limits=Limits(max_decisions=decisions),
            engine_version=ENGINE_VERSION,
        )
        config = {} if budget is None else {"budget": budget}
        waiting = (QueuedEpisode(f"{at:x}" * 32, spec, at) for at in range(1, others + 1))
        store.runs.create(Run(RUN, datetime.now(UTC), (QueuedEpisode(EPISODE, spec), *waiting), "A model", config))
        store.queue.claim_next(worker="tests")
        with pytest.MonkeyPatch.context() as patch:
            if key:
                patch.setenv(params["key_name"], key)
                patch.setenv("CRAFTSCOPE_KEYS", f"{params['key_name']}={server.host}")
            run_rollout(spec, episode_id=EPISODE, run_id=RUN, recorder_for=lambda entry: store.recorder(entry.id))
        if key:
            assert server.requests[0][1]["authorization"] == f"Bearer {key}"
