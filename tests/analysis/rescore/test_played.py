"""Re-scoring a played episode under its own configuration gives the logged rewards, however the episode ended."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest

from core.analysis.rescore import score
from core.facts import EpisodeFacts
from core.facts.columns import FactColumns
from core.rewards import STRATEGIES, checked_reward
from core.rollout import run_rollout
from core.store import TraceStore
from core.types import EnvConfig, EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run, StopReason

SPEC = EpisodeSpec(seed=42, policy=PolicySpec("scripted"), policy_seed=1)
ENDS = {
    StopReason.MAX_STEPS: replace(SPEC, limits=Limits(max_steps=90)),
    StopReason.MAX_DECISIONS: replace(SPEC, limits=Limits(max_decisions=90)),
    StopReason.MAX_OPS: replace(SPEC, limits=Limits(max_ops=181)),
    StopReason.TRUNCATED: replace(SPEC, env=EnvConfig(length=90)),
    StopReason.ABORTED: replace(SPEC, limits=Limits(max_steps=90)),
}
CONFIGS = [
    RewardConfig(name, indicator_lambda=-0.5, params={"potential": "vitals"} if name == "potential_based" else {})
    for name in STRATEGIES
]


def played(store: TraceStore, spec: EpisodeSpec, *, stop_after: int | None = None) -> tuple[EpisodeFacts, StopReason]:
    episode_id, asked = uuid.uuid4().hex, count(1)
    store.runs.create(Run(uuid.uuid4().hex, datetime.now(UTC), (QueuedEpisode(episode_id, spec),)))
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None
    (episode,) = run_rollout(
        spec,
        episode_id=episode_id,
        run_id=claimed[0],
        recorder_for=lambda queued: store.recorder(queued.id),
        should_stop=lambda: stop_after is not None and next(asked) > stop_after,
    )
    assert episode.stop_reason is not None
    return store.rewards.facts(episode_id), episode.stop_reason


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.value)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.strategy)
def test_rescored_rewards_equal_the_logged_ones(sqlite_store: TraceStore, config: RewardConfig, end: StopReason):
    spec = replace(ENDS[end], reward=checked_reward(config))
    facts, reason = played(sqlite_store, spec, stop_after=50 if end is StopReason.ABORTED else None)
    assert reason is end
    columns = FactColumns([facts])
    scores = score(columns, config)
    assert np.allclose(scores.rewards, columns.logged, rtol=0, atol=1e-9)
    assert columns.logged.any()
