"""What an audit says: alerts, with the places that prove them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from core.analysis.audit.thresholds import AuditThresholds

Subject = TypeVar("Subject")


class Severity(StrEnum):
    """How much an alert matters. A notice is worth knowing and is no reason to distrust an episode."""

    NOTICE = "notice"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Span:
    """Decisions in a row that prove something.

    first_decision, last_decision: indices, both included.
    first_frame, last_frame: the state before the first step and the one after the last; frame 0 is the state after
    reset, frame k the one after step k - 1. They are equal where no step was taken.
    reward: what of the shaped return is concerned here.
    caption: what happened, in a few words.
    """

    first_decision: int
    last_decision: int
    first_frame: int
    last_frame: int
    reward: float
    caption: str = ""

    @property
    def opening_frame(self) -> int:
        """Where to begin to look: the state after its first step, or where it stands if it took none."""
        return min(self.first_frame + 1, self.last_frame)


@dataclass(frozen=True, slots=True)
class Cycle:
    """One way round that pays and leads back to where it began.

    names: what was done on the way, by the achievements that were counted (or the components that paid).
    steps: the length of a lap. gain: what a lap pays. laps: how many were found; 0 where a configuration was audited.
    span: one lap as an example, the one that pays most a step; None where a configuration was audited.
    """

    names: tuple[str, ...]
    steps: float
    gain: float
    laps: int = 0
    span: Span | None = None

    @property
    def per_100_steps(self) -> float:
        """What 100 steps of it pay."""
        return 100 * self.gain / self.steps


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that was found.

    rule: the id of its rule in `RULES`.
    sentence: what was found, with its numbers. criterion: the rule and its thresholds, in words.
    reward: how much of the shaped return is concerned; for a configuration, what 100 steps pay.
    evidence: where to look, in order of time; at most `MOST_EVIDENCE` spans, those with the most reward.
    """

    rule: str
    severity: Severity
    sentence: str
    criterion: str
    reward: float
    evidence: tuple[Span, ...] = ()
    cycle: Cycle | None = None


@dataclass(frozen=True, slots=True)
class Rule(Generic[Subject]):
    """One thing to look for.

    description: what is looked for, and what an honest episode does instead.
    find: gives the alerts of a subject: a `Trail`, or a checked reward configuration.
    """

    id: str
    name: str
    description: str
    find: Callable[[Subject, AuditThresholds], Iterator[Alert]]
