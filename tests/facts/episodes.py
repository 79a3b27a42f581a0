"""Reward facts of an episode that was played without a store."""

from __future__ import annotations

from core.facts import EpisodeFacts, FactsWriter
from core.types import Episode


def facts_of(episode: Episode) -> EpisodeFacts:
    """What a store would have kept of it."""
    writer = FactsWriter()
    end = 0
    for decision in episode.decisions:
        end += len(decision.steps)
        writer.add(
            decision.before,
            decision.after,
            decision.unlocked,
            env_reward=decision.env_reward,
            reward=decision.reward.total,
            step_end=end,
        )
    assert episode.stop_reason is not None
    return writer.facts(foreseen_end=episode.stop_reason.is_foreseen)
