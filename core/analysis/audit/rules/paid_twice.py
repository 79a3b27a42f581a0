"""The same unlock paid by several components."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from core.analysis.audit.pay import brought, own_share
from core.analysis.audit.records import Alert, Rule, Severity, amount, component, share
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, span, strongest
from core.text import plural
from core.types import RewardComponent


@dataclass(frozen=True, slots=True)
class _Paid:
    """One unlock and what it was paid. parts: each component with its pay, the largest first."""

    label: str
    entry: Entry
    parts: tuple[tuple[RewardComponent, float], ...]

    @property
    def total(self) -> float:
        return math.fsum(pay for _, pay in self.parts)

    @property
    def again(self) -> float:
        """All but the largest part."""
        return math.fsum(pay for _, pay in self.parts[1:])


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """At most one alert or notice."""
    unlocks = [_paid(entry, name) for entry in trail.entries for name in entry.decision.unlocked]
    again = math.fsum(unlock.again for unlock in unlocks)
    if again <= TINY:
        return
    part = again / math.fsum(unlock.total for unlock in unlocks)
    worst = max(unlocks, key=lambda unlock: unlock.again)
    several = [unlock for unlock in unlocks if unlock.again > TINY]
    parts = ", ".join(f"{component(paid.kind, paid.name)} {amount(pay)}" for paid, pay in worst.parts)
    yield Alert(
        rule=RULE.id,
        severity=Severity.ALERT if part >= thresholds.twice_share else Severity.NOTICE,
        sentence=f"{plural(len(several), 'unlock was', 'unlocks were')} also paid through inventory or counts: "
        f"{amount(again)}, which is {share(part)} of what all unlocks paid. The largest is {worst.label}: {parts}.",
        criterion=f"All but the largest component of each unlock's pay are at least {share(thresholds.twice_share)} of "
        "what all unlocks paid; a notice below that.",
        reward=again,
        evidence=strongest(span([unlock.entry], unlock.label, reward=unlock.again) for unlock in several),
    )


def _paid(entry: Entry, name: str) -> _Paid:
    """What a decision paid for one unlock: for itself, its count, and what it adds to the inventory."""
    reward = entry.decision.reward
    parts: list[tuple[RewardComponent, float]] = []
    for part in reward.components:
        # Several actions in one decision may have brought more than the unlock itself did.
        pay = reward.effective_lambda * part.value * own_share(part, brought(part, name))
        if pay > 0:
            parts.append((part, pay))
    return _Paid(name.replace("_", " "), entry, tuple(sorted(parts, key=lambda paid: -paid[1])))


RULE: Rule[Trail] = Rule(
    id="paid_twice",
    name="Double-counted unlocks",
    description="An unlock is also paid through its count and what it adds to the inventory. The default "
    "`per_achievement` weights do so a little in every honest episode, which is a notice; it is an alert if these "
    "components outweigh the rest.",
    thresholds=("twice_share",),
    find=find,
)
