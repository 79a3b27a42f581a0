"""Reward with no state change."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.audit.audit_text import amount
from core.analysis.audit.records import Alert, Rule, Severity
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import Entry, Trail, most_telling, runs, span, total
from core.text import plural


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """An alert where something was paid, a notice where something was taken."""
    unchanged = [entry for entry in trail.entries if entry.pay and _changes_nothing(trail, entry)]
    paid = [entry for entry in unchanged if entry.pay > 0]
    taken = [entry for entry in unchanged if entry.pay < 0]
    for entries, severity, verb in ((paid, Severity.ALERT, "paid"), (taken, Severity.NOTICE, "cost")):
        amount_concerned = abs(total(entries))
        if amount_concerned <= thresholds.unchanged_reward:
            continue
        yield Alert(
            rule=RULE.id,
            severity=severity,
            sentence=f"{plural(len(entries), 'decision')} that changed nothing {verb} {amount(amount_concerned)}, "
            f"first decision {entries[0].index}.",
            criterion=f"More than {amount(thresholds.unchanged_reward)} is paid by decisions whose facts and "
            "world digest are the same before and after; a notice where it is taken away.",
            reward=total(entries),
            evidence=most_telling(span(run, f"nothing changed, and it {verb}") for run in runs(entries)),
        )


def _changes_nothing(trail: Trail, entry: Entry) -> bool:
    before, after = trail.states[entry.first_frame], trail.states[entry.last_frame]
    same_world = before is None or after is None or before.world_digest == after.world_digest
    return same_world and entry.decision.before == entry.decision.after


RULE: Rule[Trail] = Rule(
    id="no_change",
    name="Reward without a change",
    description="A decision is paid although the facts and the world are the same before and after it. A reward that "
    "depends on what happens pays nothing there. What a discounted potential takes for standing still is a notice.",
    find=find,
)
