"""Two rules for reward that no action earned: after the world's end, and without a change of the state."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

from core.analysis.audit.records import Alert, Rule, Severity, amount
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import Entry, Trail, runs, span, strongest, total
from core.text import plural
from core.types import Step

_NEVER = sys.maxsize  # later than any frame


def _after_end(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """At most two alerts: after the first world's end, and in other worlds."""
    reset, end = _reset_frame(trail), _end_frame(trail)
    dead = [entry for entry in trail.entries if end < entry.last_frame < reset]
    later = [entry for entry in trail.entries if entry.last_frame >= reset]
    if _pays(dead, thresholds):
        yield _after_end_alert(dead, thresholds, f"after the end of the world at frame {end}", "paid after the end")
    if _pays(later, thresholds):
        across = ", one of them across both worlds" if any(entry.first_frame < reset for entry in later) else ""
        where = f"in another world, which begins at frame {reset}{across}"
        yield _after_end_alert(later, thresholds, where, "paid after a reset")


def _pays(entries: Sequence[Entry], thresholds: AuditThresholds) -> bool:
    """Losses count as gains, so that they do not cancel out."""
    return math.fsum(abs(entry.pay) for entry in entries) > thresholds.after_end_reward


def _after_end_alert(entries: Sequence[Entry], thresholds: AuditThresholds, where: str, caption: str) -> Alert:
    paid = [entry for entry in entries if entry.pay]
    return Alert(
        rule="after_end",
        severity=Severity.ALERT,
        sentence=f"{plural(len(paid), 'decision')} paid {amount(total(paid))} {where}.",
        criterion=f"More than {amount(thresholds.after_end_reward)} is paid after a step that ended the world, or "
        "after the world was reset within the episode.",
        reward=total(paid),
        evidence=strongest(span(run, caption) for run in runs(paid)),
    )


def _end_frame(trail: Trail) -> int:
    """The first frame after the world's end, by the step's flags or by health; `_NEVER` without one."""
    return next((frame for frame, step in enumerate(trail.episode.steps, start=1) if _is_over(step)), _NEVER)


def _is_over(step: Step) -> bool:
    return step.terminated or step.truncated or step.state.facts.inventory.get("health", 1) <= 0


def _reset_frame(trail: Trail) -> int:
    """The first frame of another world; `_NEVER` without one."""
    return next((frame for frame, world in enumerate(trail.worlds) if world), _NEVER)


def _no_change(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """An alert for gains, a notice for losses."""
    unchanged = [entry for entry in trail.entries if entry.pay and _changes_nothing(trail, entry)]
    paid = [entry for entry in unchanged if entry.pay > 0]
    taken = [entry for entry in unchanged if entry.pay < 0]
    for entries, severity, verb in ((paid, Severity.ALERT, "paid"), (taken, Severity.NOTICE, "cost")):
        amount_concerned = abs(total(entries))
        if amount_concerned <= thresholds.unchanged_reward:
            continue
        yield Alert(
            rule="no_change",
            severity=severity,
            sentence=f"{plural(len(entries), 'decision')} that changed nothing {verb} {amount(amount_concerned)}, "
            f"first decision {entries[0].index}.",
            criterion=f"More than {amount(thresholds.unchanged_reward)} is paid by decisions whose facts and "
            "world digest are the same before and after; a notice if it is a loss.",
            reward=total(entries),
            evidence=strongest(span(run, f"nothing changed, and it {verb}") for run in runs(entries)),
        )


def _changes_nothing(trail: Trail, entry: Entry) -> bool:
    before, after = trail.states[entry.first_frame], trail.states[entry.last_frame]
    same_world = before is None or after is None or before.world_digest == after.world_digest
    return same_world and entry.decision.before == entry.decision.after


AFTER_END: Rule[Trail] = Rule(
    id="after_end",
    name="Reward after the end",
    description="Reward after death or after the environment's last step, or in a second world within the episode, "
    "where the state is compared between two worlds. Episodes of this program have none; imported and older ones may.",
    thresholds=("after_end_reward",),
    find=_after_end,
)
NO_CHANGE: Rule[Trail] = Rule(
    id="no_change",
    name="Reward without a change",
    description="A decision is paid although the facts and the world are the same before and after it. A reward that "
    "depends on what happens pays nothing there. The loss that a discounted potential charges for standing still is a "
    "notice.",
    thresholds=("unchanged_reward",),
    find=_no_change,
)
