"""Rules, alerts and their evidence, and the texts of numbers and names in their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from core.analysis.audit.thresholds import AuditThresholds

Subject = TypeVar("Subject")

_KINDS = {
    "achievement": 'the unlock of "{}"',
    "achievement_count": 'the count of "{}"',
    "inventory": '"{}" in the inventory',
    "indicator": "the indicator of a first unlock",
    "environment": "the environment's reward",
    "potential": 'the potential "{}"',
}


class Severity(StrEnum):
    """A notice is worth knowing, but not a reason to distrust an episode."""

    NOTICE = "notice"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive decisions as evidence.

    first_decision, last_decision: indices, both included.
    first_frame, last_frame: the state before the first step and the one after the last; frame 0 is the state after
    reset, frame k the one after step k - 1. They are equal if no step was taken.
    reward: the part of the shaped return concerned. caption: what happened, in a few words.
    """

    first_decision: int
    last_decision: int
    first_frame: int
    last_frame: int
    reward: float
    caption: str = ""

    @property
    def opening_frame(self) -> int:
        """Where to start watching: the frame after the first step, if any."""
        return min(self.first_frame + 1, self.last_frame)


@dataclass(frozen=True, slots=True)
class PayingLoop:
    """A loop that pays.

    names: the achievements that it counts up (or the components that paid).
    steps, gain: of one repeat; in an episode the steps of the best-paid one and the mean gain.
    repeats: how many were found; 0 in the audit of a configuration.
    """

    names: tuple[str, ...]
    steps: float
    gain: float
    repeats: int = 0

    @property
    def per_100_steps(self) -> float:
        """What 100 steps of it pay."""
        return 100 * self.gain / self.steps


@dataclass(frozen=True, slots=True)
class Alert:
    """One finding.

    rule: its id in `RULES`. sentence: what was found, with numbers. criterion: the rule with its thresholds, as text.
    reward: the part of the shaped return concerned; for a configuration, what 100 steps pay.
    evidence: the at most `MAX_EVIDENCE` spans with the most reward, in order of time.
    """

    rule: str
    severity: Severity
    sentence: str
    criterion: str
    reward: float
    evidence: tuple[Span, ...] = ()
    loop: PayingLoop | None = None


@dataclass(frozen=True, slots=True)
class Rule(Generic[Subject]):
    """description: what the rule looks for, and what an honest episode does instead.
    thresholds: the fields of `AuditThresholds` that it uses.
    find: yields the alerts of a `Trail` or of a checked reward configuration.
    """

    id: str
    name: str
    description: str
    thresholds: tuple[str, ...]
    find: Callable[[Subject, AuditThresholds], Iterator[Alert]]


def component(kind: str, name: str) -> str:
    """Such as `the count of "collect drink"`."""
    return _KINDS.get(kind, f'{kind} "{{}}"').replace("{}", name.replace("_", " "))


def amount(value: float) -> str:
    """A reward: two decimals, or two significant digits if it is small."""
    return f"{value:,.2f}" if abs(value) >= 0.095 or not value else f"{value:.2g}"


def share(value: float) -> str:
    return f"{100 * value:.0f}%"


def unlocks_worth(count: float, *, is_paid: bool) -> str:
    """is_paid: whether the configuration pays for unlocks; if not, Crafter's own reward is the unit."""
    many = "" if count == 1 else f"{count:g} times "
    if not is_paid:
        return f"{many}the 1 that Crafter itself pays for an unlock, as this configuration pays nothing for one"
    return f"{many}as much as an unlock does on average"
