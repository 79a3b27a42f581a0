"""An episode as the rules read it: the state at each frame, and what each decision was paid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from core.analysis.audit.pay import pay_beside, unlock_worth
from core.analysis.audit.records import Span
from core.types import Decision, Episode, StateRecord

MAX_EVIDENCE = 20  # spans of one alert
TINY = 1e-9  # sums of at most this size may be rounding errors


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One decision, hashed by identity.

    first_frame, last_frame: as in `Span`. pay: the shaped reward. pay_beside: the same without the pay for unlocks.
    """

    decision: Decision
    first_frame: int
    last_frame: int
    pay: float
    pay_beside: float

    @property
    def index(self) -> int:
        return self.decision.index


class Trail:
    """entries: the decisions in order. states: of each frame; the first is None if the start was not recorded."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.states: list[StateRecord | None] = [episode.initial]
        self.entries: list[Entry] = []
        for decision in episode.decisions:
            first = len(self.states) - 1
            self.states += [step.state for step in decision.steps]
            self.entries.append(
                Entry(decision, first, len(self.states) - 1, decision.reward.total, pay_beside(decision))
            )

    @cached_property
    def entry_of_step(self) -> list[Entry]:
        """The decision of each step; step k leads from frame k to frame k + 1."""
        return [entry for entry in self.entries for _ in entry.decision.steps]

    @cached_property
    def worlds(self) -> list[int]:
        """The number of each frame's world: 0 throughout, except in some imported and older episodes."""
        numbers = [0]
        for before, after in pairwise(self.states):
            numbers.append(numbers[-1] + _is_another_world(before, after))
        return numbers

    @cached_property
    def pays_unlocks(self) -> bool:
        """Raises InvalidReward."""
        return unlock_worth(self.episode.spec.reward) > 0

    @cached_property
    def unlock_worth(self) -> float:
        """As `pay.unlock_worth`, but 1, Crafter's own reward, if no unlock is paid. Raises InvalidReward."""
        return unlock_worth(self.episode.spec.reward) or 1.0


def _is_another_world(before: StateRecord | None, after: StateRecord | None) -> bool:
    """Whether something fell that never falls within one world: the clock, counts, unlocked achievements."""
    if before is None or after is None:
        return False
    earlier, later = before.facts, after.facts
    return (
        after.scene.step < before.scene.step
        or any(later.achievement_counts.get(name, 0) < n for name, n in earlier.achievement_counts.items())
        or any(had and not later.achievements.get(name, False) for name, had in earlier.achievements.items())
    )


def total(entries: Iterable[Entry]) -> float:
    return math.fsum(entry.pay for entry in entries)


def total_beside(entries: Iterable[Entry]) -> float:
    return math.fsum(entry.pay_beside for entry in entries)


def span(entries: Sequence[Entry], caption: str, *, reward: float | None = None) -> Span:
    first, last = entries[0], entries[-1]
    paid = total(entries) if reward is None else reward
    return Span(first.index, last.index, first.first_frame, last.last_frame, paid, caption)


def runs(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Groups decisions into stretches without a gap."""
    run: list[Entry] = []
    for entry in entries:
        if run and entry.index != run[-1].index + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def strongest(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The at most `MAX_EVIDENCE` spans with the most reward, in order of time."""
    by_reward = sorted(spans, key=lambda span: -abs(span.reward))[:MAX_EVIDENCE]
    return tuple(sorted(by_reward, key=lambda span: span.first_frame))
