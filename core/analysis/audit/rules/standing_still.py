"""The shaped return rises while achievements stand still."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from core.analysis.audit.records import Alert, Rule, Severity, amount, unlocks_worth
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, span, strongest, total_beside
from core.text import plural


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for the episode, with every stretch in which too much was paid beside unlocks."""
    least = max(TINY, thresholds.still_worth * trail.unlock_worth)
    stretches = [
        stretch
        for quiet in _between_unlocks(trail.entries)
        for stretch in _joined(quiet, _windows(quiet, thresholds.still_steps, least))
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
        f"decision, pay at least {amount(least)} beside the unlock: "
        f"{unlocks_worth(thresholds.still_worth, is_paid=trail.pays_unlocks)}. Windows that touch are one stretch.",
        reward=reward,
        evidence=strongest(
            span(stretch, "return rises, no further unlock", reward=total_beside(stretch)) for stretch in stretches
        ),
    )


def _between_unlocks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Stretches that begin with the start or with a decision that unlocked something, as it may have done more."""
    quiet: list[Entry] = []
    for entry in entries:
        if entry.decision.unlocked:
            yield quiet
            quiet = []
        quiet.append(entry)
    yield quiet


def _windows(quiet: Sequence[Entry], steps: int, least: float) -> Iterator[tuple[int, int]]:
    """(first, last) wherever enough is paid: for each last, the best-paid stretch of at most `steps` steps."""
    paid = 0.0  # before the current entry
    starts: deque[tuple[int, float]] = deque()  # where to begin, and the pay before it; both rise
    for last, entry in enumerate(quiet):
        while starts and starts[-1][1] >= paid:
            starts.pop()
        starts.append((last, paid))
        while len(starts) > 1 and entry.last_frame - quiet[starts[0][0]].first_frame > steps:
            starts.popleft()
        paid += entry.pay_beside
        first, before = starts[0]
        if paid <= before:  # a net loss: what follows starts from 0
            starts.clear()
            paid = 0.0
        elif entry.pay_beside > 0 and paid - before >= least:
            yield first, last


def _joined(quiet: Sequence[Entry], windows: Iterator[tuple[int, int]]) -> Iterator[list[Entry]]:
    """Windows that overlap or touch, as one stretch."""
    stretches: list[tuple[int, int]] = []
    for first, last in windows:
        if stretches and first <= stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return (list(quiet[first : last + 1]) for first, last in stretches)


RULE: Rule[Trail] = Rule(
    id="standing_still",
    name="Return rises, achievements stand still",
    description="A stretch of steps in which nothing new is unlocked pays as much as several unlocks do; what the "
    "decision before it paid for its unlock is left out. An honest "
    "policy between two unlocks gathers what the next one needs and keeps itself alive, which pays a little; only "
    "repeating something pays a lot.",
    find=find,
)
