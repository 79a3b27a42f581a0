"""An episode as the rules walk through it: states by frame, and what each decision was paid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from core.analysis.audit.records import Span
from core.analysis.audit.unlocks import pay_beside
from core.analysis.audit.worth import unlock_worth
from core.types import Decision, Episode, StateRecord

MOST_EVIDENCE = 20  # spans of one alert
# Sums of rewards that should be 0 may differ from it by rounding.
TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One decision. Equal to itself alone.

    first_frame, last_frame: as in `Span`. pay: its shaped reward. pay_beside: without what was paid for its unlocks.
    """

    decision: Decision
    first_frame: int
    last_frame: int
    pay: float
    pay_beside: float

    @property
    def index(self) -> int:
        """The decision's index."""
        return self.decision.index

    @property
    def unlocked(self) -> bool:
        """Whether it unlocked something."""
        return bool(self.decision.unlocked)


class Trail:
    """One episode. entries: its decisions in order. states: one for each frame, None where none was recorded."""

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
        """The decision that each step belongs to; step k leads from frame k to frame k + 1."""
        return [entry for entry in self.entries for _ in entry.decision.steps]

    @cached_property
    def worlds(self) -> list[int]:
        """For each frame the number of its world: all 0 in what this program records."""
        numbers = [0]
        for before, after in pairwise(self.states):
            numbers.append(numbers[-1] + _is_another_world(before, after))
        return numbers

    @cached_property
    def pays_unlocks(self) -> bool:
        """Whether the episode's configuration pays anything for unlocks. Raises InvalidReward."""
        return unlock_worth(self.episode.spec.reward) > 0

    @cached_property
    def unlock_worth(self) -> float:
        """The mean size of an unlock's pay under the episode's configuration; 1, as Crafter itself pays, where it pays
        nothing for any. Raises InvalidReward."""
        return unlock_worth(self.episode.spec.reward) or 1.0


def _is_another_world(before: StateRecord | None, after: StateRecord | None) -> bool:
    """Within one world the clock and the counts only rise, and what was achieved stays so."""
    if before is None or after is None:
        return False
    earlier, later = before.facts, after.facts
    return (
        after.scene.step < before.scene.step
        or any(later.achievement_counts.get(name, 0) < n for name, n in earlier.achievement_counts.items())
        or any(had and not later.achievements.get(name, False) for name, had in earlier.achievements.items())
    )


def total(entries: Iterable[Entry]) -> float:
    """What these decisions were paid."""
    return math.fsum(entry.pay for entry in entries)


def total_beside(entries: Iterable[Entry]) -> float:
    """What these decisions were paid beside their unlocks."""
    return math.fsum(entry.pay_beside for entry in entries)


def span(entries: Sequence[Entry], caption: str, *, reward: float | None = None) -> Span:
    """Decisions in a row as evidence."""
    first, last = entries[0], entries[-1]
    paid = total(entries) if reward is None else reward
    return Span(first.index, last.index, first.first_frame, last.last_frame, paid, caption)


def runs(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """The same decisions, those that follow on each other together."""
    run: list[Entry] = []
    for entry in entries:
        if run and entry.index != run[-1].index + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def most_telling(spans: Iterable[Span]) -> tuple[Span, ...]:
    """At most `MOST_EVIDENCE` of them, those with the most reward, in order of time."""
    by_reward = sorted(spans, key=lambda span: -abs(span.reward))[:MOST_EVIDENCE]
    return tuple(sorted(by_reward, key=lambda span: span.first_frame))
