"""Formats of one JSON object a line: whole episodes, decision samples, and the statistics of Crafter's own recorder.

`LINES` names them all, with those of `atif` and `otel`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

from core.env.rules import ACHIEVEMENTS
from core.exports.atif import atif_lines
from core.exports.document import episode_json
from core.exports.otel import otel_lines
from core.store import EpisodeSummary, TraceStore
from core.store.blobs import to_json
from core.types import Decision

Lines = Callable[[TraceStore, Iterable[EpisodeSummary]], Iterator[bytes]]


def document_lines(store: TraceStore, episodes: Iterable[EpisodeSummary]) -> Iterator[bytes]:
    """Each episode as the document of `core.exports.document`. `core.imports` reads it."""
    return (episode_json(store, episode.id) + b"\n" for episode in episodes)


def sample_lines(store: TraceStore, episodes: Iterable[EpisodeSummary]) -> Iterator[bytes]:
    """Each decision as a sample for trainers, with its episode, value and log-probability."""
    for episode in episodes:
        for decision in store.episodes.load(episode.id).decisions:
            place = {"run_id": episode.run_id, "episode_id": episode.id}
            known = {"value": decision.value, "logprob": decision.logprob}
            yield to_json(place | decision_sample(decision) | known) + b"\n"


def decision_sample(decision: Decision) -> dict[str, Any]:
    """A decision as a training sample: what was done, and what it earned."""
    reward = decision.reward
    return {
        "decision_index": decision.index,
        "indicator": reward.indicator,
        "r_i": reward.total,
        "base": reward.base,
        "strategy": reward.strategy,
        "actions": list(decision.actions),
        "components": [asdict(component) for component in reward.components],
        "resource_reward": reward.resource_reward,
    }


def stats_lines(store: TraceStore, episodes: Iterable[EpisodeSummary]) -> Iterator[bytes]:
    """What `crafter.Recorder` writes to stats.jsonl for each episode: length, return and the achievement counts."""
    for episode in episodes:
        decisions = store.episodes.load(episode.id).decisions
        counts = decisions[-1].after.achievement_counts if decisions else {}
        row = {"length": episode.n_steps, "reward": round(episode.env_return, 1)}
        row |= {f"achievement_{name}": counts.get(name, 0) for name in ACHIEVEMENTS}
        yield json.dumps(row).encode() + b"\n"


LINES: Final[dict[str, Lines]] = {
    "jsonl": document_lines,
    "samples": sample_lines,
    "stats": stats_lines,
    "atif": atif_lines,
    "otel": otel_lines,
}
"""The formats by name."""
