"""The shaped return rises without new achievements."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from core.analysis.audit.records import Alert, Rule, Severity, amount, unlocks_worth
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, span, strongest, total_beside
from core.text import plural


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """At most one alert, with every stretch in which too much was paid beside unlocks."""
    min_pay = max(TINY, thresholds.still_worth * trail.unlock_worth)
    stretches = [
        stretch
        for entries in _between_unlocks(trail.entries)
        for stretch in _joined(entries, _windows(entries, thresholds.still_steps, min_pay))
    ]
    if not stretches:
        return
    best = max(stretches, key=total_beside)
    reward = sum(map(total_beside, stretches))
    where = f"from step {best[0].first_frame} to step {best[-1].last_frame}"
    if len(stretches) > 1:
        where = f"most of it {where} ({amount(total_beside(best))})"
    steps = sum(stretch[-1].last_frame - stretch[0].first_frame for stretch in stretches)
    yield Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"The shaped return rose by {amount(reward)} in {plural(steps, 'step')}, without the pay of unlocks, "
        f"{where}.",
        criterion=f"At most {plural(thresholds.still_steps, 'step')} from one unlock to the next, or one longer "
        f"decision, pay at least {amount(min_pay)} beside the unlock: "
        f"{unlocks_worth(thresholds.still_worth, is_paid=trail.pays_unlocks)}. Windows that touch are one stretch.",
        reward=reward,
        evidence=strongest(
            span(stretch, "return rises, no new unlock", reward=total_beside(stretch)) for stretch in stretches
        ),
    )


def _between_unlocks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Splits before each decision that unlocked something. It belongs to the later stretch: it may have done more."""
    stretch: list[Entry] = []
    for entry in entries:
        if entry.decision.unlocked:
            yield stretch
            stretch = []
        stretch.append(entry)
    yield stretch


def _windows(entries: Sequence[Entry], steps: int, min_pay: float) -> Iterator[tuple[int, int]]:
    """(first, last) of windows that pay enough: for each last, the best-paid window of at most `steps` steps."""
    paid = 0.0  # before the current entry
    starts: deque[tuple[int, float]] = deque()  # candidates for the first entry, and the pay before it; both rise
    for last, entry in enumerate(entries):
        while starts and starts[-1][1] >= paid:
            starts.pop()
        starts.append((last, paid))
        while len(starts) > 1 and entry.last_frame - entries[starts[0][0]].first_frame > steps:
            starts.popleft()
        paid += entry.pay_beside
        first, before = starts[0]
        if paid <= before:  # a net loss: no later window may begin with it
            starts.clear()
            paid = 0.0
        elif entry.pay_beside > 0 and paid - before >= min_pay:
            yield first, last


def _joined(entries: Sequence[Entry], windows: Iterator[tuple[int, int]]) -> Iterator[list[Entry]]:
    """Joins windows that overlap or touch."""
    stretches: list[tuple[int, int]] = []
    for first, last in windows:
        if stretches and first <= stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return (list(entries[first : last + 1]) for first, last in stretches)


RULE: Rule[Trail] = Rule(
    id="standing_still",
    name="Return rises without new achievements",
    description="A stretch of steps without a new unlock pays as much as several unlocks do. An honest policy between "
    "two unlocks gathers what the next one needs and keeps itself alive, which pays a little; only repeating something "
    "pays a lot. The pay of unlocks themselves is left out.",
    thresholds=("still_steps", "still_worth"),
    find=find,
)
