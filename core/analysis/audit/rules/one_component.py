"""One component pays for most of an episode."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from core.analysis.audit.pay import paid_beside
from core.analysis.audit.records import Alert, Rule, Severity, amount, component, share
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY, Entry, Trail, runs, span, strongest
from core.text import plural

_Paid = dict[tuple[str, str], dict[Entry, float]]


def find(trail: Trail, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each component whose share is too large."""
    rewards = [entry.decision.reward for entry in trail.entries]
    gross = math.fsum(max(0.0, each.effective_lambda * part.value) for each in rewards for part in each.components)
    for (kind, name), paid in _repeated(trail).items():
        pay = math.fsum(paid.values())
        if pay <= 0 or pay < thresholds.component_share * gross or len(paid) < thresholds.component_decisions:
            continue
        which = component(kind, name)
        yield Alert(
            rule=RULE.id,
            severity=Severity.ALERT,
            sentence=f"{which[0].upper()}{which[1:]} paid {amount(pay)} in "
            f"{plural(len(paid), 'decision')}, unlocks left out: {share(pay / gross)} of everything that was paid.",
            criterion=f"One component pays at least {share(thresholds.component_share)} of everything that was paid, "
            f"in at least {plural(thresholds.component_decisions, 'decision')}; what unlocks themselves pay is left "
            "out.",
            reward=pay,
            evidence=strongest(
                span(run, f"{which} pays", reward=math.fsum(paid[entry] for entry in run)) for run in runs(paid)
            ),
        )


def _repeated(trail: Trail) -> _Paid:
    """What each component paid in each decision, without the pay for unlocks."""
    paid: _Paid = defaultdict(lambda: defaultdict(float))
    for entry in trail.entries:
        for kind, name, pay in paid_beside(entry.decision):
            if abs(pay) > TINY:
                paid[kind, name][entry] += pay
    return paid


RULE: Rule[Trail] = Rule(
    id="one_component",
    name="One component pays for most",
    description="One component, paid many times for other things than unlocks, is most of the total reward. An honest "
    "episode is paid for many different things. The pay of unlocks does not count, so a configuration that pays only "
    "for unlocks has no finding.",
    thresholds=("component_share", "component_decisions"),
    find=find,
)
