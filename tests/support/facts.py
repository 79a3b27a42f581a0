"""Reward facts of episodes that were played without a store, or made up from random states."""

from __future__ import annotations

import random

from core.facts import EpisodeFacts, FactsWriter
from core.types import Episode, StateFacts

ITEMS = ("health", "wood", "drink", "wood_pickaxe", "iron_sword")
ACHIEVEMENTS = ("collect_wood", "collect_drink", "wake_up", "place_table")


def facts_of(episode: Episode) -> EpisodeFacts:
    """What a store would have recorded of it."""
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
    return writer.facts(known_end=episode.stop_reason.is_known_at_scoring)


def random_states(draw: random.Random, count: int) -> list[StateFacts]:
    """Like Crafter's: inventory moves up and down, achievements and counts only up."""
    counts = dict.fromkeys(ACHIEVEMENTS, 0)
    states: list[StateFacts] = []
    for _ in range(count):
        counts = {name: n + (draw.random() < 0.2) * draw.randrange(1, 3) for name, n in counts.items()}
        states.append(
            StateFacts(
                achievements={name: n > 0 for name, n in counts.items()},
                inventory={name: draw.randrange(10) for name in ITEMS},
                achievement_counts=dict(counts),
            )
        )
    return states


def facts_of_states(states: list[StateFacts], draw: random.Random, *, known_end: bool = False) -> EpisodeFacts:
    writer = FactsWriter()
    for at, (before, after) in enumerate(zip(states, states[1:], strict=False)):
        unlocked = [name for name, has in after.achievements.items() if has and not before.achievements[name]]
        writer.add(before, after, unlocked, env_reward=draw.choice([0.0, 1.0, -0.1]), step_end=at + 1)
    return writer.facts(known_end=known_end)
