"""How long a launch may take, from how long stored episodes took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.store import EpisodeSummary

_MIN_STEPS = 20  # an episode shorter than this says more about its world's making than about its steps


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds a step took, the making of the world included, over so many episodes."""

    seconds_per_step: float
    episodes: int


def pace_of(rows: Iterable[EpisodeSummary]) -> Pace | None:
    """The pace of episodes that are over; None where there is nothing to go by."""
    measured = [
        ((row.ended_at - row.started_at).total_seconds(), row.n_steps)
        for row in rows
        if row.started_at and row.ended_at and row.n_steps >= _MIN_STEPS
    ]
    steps = sum(n_steps for _, n_steps in measured)
    return Pace(sum(duration for duration, _ in measured) / steps, len(measured)) if steps else None


def longest_s(pace: Pace, *, rollouts: int, max_steps: int, max_time_s: float, at_once: int) -> float:
    """Seconds until the last of `rollouts` is over if each of them uses all its steps."""
    one = min(max_steps * pace.seconds_per_step, max_time_s)
    rounds = -(-rollouts // at_once)
    return rounds * one
