"""How long a run may take, from stored episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.store import EpisodeSummary

_MIN_STEPS = 20  # in a shorter episode, generating the world takes most of the time


@dataclass(frozen=True, slots=True)
class Throughput:
    """Mean seconds per step, including world generation, over `episodes` episodes."""

    seconds_per_step: float
    episodes: int


def throughput_of(rows: Iterable[EpisodeSummary]) -> Throughput | None:
    """None if no episode is over and long enough."""
    measured = [
        ((row.ended_at - row.started_at).total_seconds(), row.n_steps)
        for row in rows
        if row.started_at and row.ended_at and row.n_steps >= _MIN_STEPS
    ]
    steps = sum(n_steps for _, n_steps in measured)
    return Throughput(sum(duration for duration, _ in measured) / steps, len(measured)) if steps else None


def longest_s(throughput: Throughput, *, rollouts: int, max_steps: int, max_time_s: float, at_once: int) -> float:
    """Seconds until all rollouts are over if each uses all its steps."""
    one = min(max_steps * throughput.seconds_per_step, max_time_s)
    return -(-rollouts // at_once) * one
