"""Reward after death, or in a world that was reset."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

from core.analysis.audit.audit_text import amount
from core.analysis.audit.records import Alert, Rule, Severity
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import Entry, Trail, most_telling, runs, span, total
from core.text import plural
from core.types import Step

_NEVER = sys.maxsize  # later than any frame


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """At most two alerts: for what came after the end of the first world, and for what came in other worlds."""
    reset, end = _reset_frame(trail), _end_frame(trail)
    dead = [entry for entry in trail.entries if end < entry.last_frame < reset]
    later = [entry for entry in trail.entries if entry.last_frame >= reset]
    if _pays(dead, thresholds):
        yield _alert(dead, thresholds, f"after the end of the world at frame {end}", "paid after the end")
    if _pays(later, thresholds):
        across = ", one of them across both worlds" if any(entry.first_frame < reset for entry in later) else ""
        where = f"in another world, which begins at frame {reset}{across}"
        yield _alert(later, thresholds, where, "paid after a reset")


def _pays(entries: Sequence[Entry], thresholds: AuditThresholds) -> bool:
    """Losses count like gains, so that they do not make up for each other."""
    return math.fsum(abs(entry.pay) for entry in entries) > thresholds.after_end_reward


def _alert(entries: Sequence[Entry], thresholds: AuditThresholds, where: str, caption: str) -> Alert:
    paid = [entry for entry in entries if entry.pay]
    return Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"{plural(len(paid), 'decision')} paid {amount(total(paid))} {where}.",
        criterion=f"More than {amount(thresholds.after_end_reward)} is paid after a step that ended the world, or "
        "after the world was made anew within the episode.",
        reward=total(paid),
        evidence=most_telling(span(run, caption) for run in runs(paid)),
    )


def _end_frame(trail: Trail) -> int:
    """The first frame in which the world is over: said so, or no health left. `_NEVER` where it goes on."""
    return next((frame for frame, step in enumerate(trail.episode.steps, start=1) if _is_over(step)), _NEVER)


def _is_over(step: Step) -> bool:
    return step.terminated or step.truncated or step.state.facts.inventory.get("health", 1) <= 0


def _reset_frame(trail: Trail) -> int:
    """The first frame of another world; `_NEVER` where there is none."""
    return next((frame for frame, world in enumerate(trail.worlds) if world), _NEVER)


RULE: Rule[Trail] = Rule(
    id="after_end",
    name="Reward after the end",
    description="Something was paid after death or after the environment's last step, or in a second world that the "
    "episode ran on into, where differences are taken between two worlds. No episode that this program plays does so; "
    "imported and older ones may.",
    find=find,
)
