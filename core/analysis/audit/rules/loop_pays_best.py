"""A configuration whose optimum is a loop."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.audit.audit_text import amount, share
from core.analysis.audit.crafter import LOOPS, UNLOCKS, Loop
from core.analysis.audit.records import Alert, Cycle, Rule, Severity
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY
from core.analysis.audit.worth import lap_pay, unlocks_pay
from core.text import plural
from core.types import RewardConfig


def find(config: RewardConfig, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each known loop that pays too much, the one that pays most first."""
    if not config.is_active:
        return
    unlocks = unlocks_pay(config)
    least = least_pay(unlocks, thresholds)
    for loop, cycle in cycles(config):
        if cycle.per_100_steps >= least:
            yield _alert(loop, cycle, unlocks, thresholds)


def cycles(config: RewardConfig) -> list[tuple[Loop, Cycle]]:
    """Every known loop and what it pays, the one that pays most first. Raises InvalidReward."""
    return sorted(((loop, _cycle(config, loop)) for loop in LOOPS), key=lambda pair: -pair[1].per_100_steps)


def least_pay(unlocks: float, thresholds: AuditThresholds) -> float:
    """What 100 steps of a loop have to pay for an alert, where all unlocks together pay `unlocks`."""
    return max(TINY, thresholds.config_share * unlocks)


def _cycle(config: RewardConfig, loop: Loop) -> Cycle:
    names = dict.fromkeys(event.done for event in loop.events if event.done)
    return Cycle(tuple(names) or (loop.name,), loop.steps, lap_pay(config, loop))


def _alert(loop: Loop, cycle: Cycle, unlocks: float, thresholds: AuditThresholds) -> Alert:
    pay = cycle.per_100_steps
    compared = (
        f"{share(pay / unlocks)} of what all {len(UNLOCKS)} unlocks pay once ({amount(unlocks)}); "
        f"{plural(round(100 * unlocks / pay), 'step')} of it pay as much as they do"
        if unlocks > 0
        else f"while all {len(UNLOCKS)} unlocks together pay {amount(unlocks)}"
    )
    return Alert(
        rule=RULE.id,
        severity=Severity.ALERT,
        sentence=f"{loop.name[0].upper()}{loop.name[1:]} pays up to {amount(pay)} in 100 steps, {compared}. "
        f"{loop.derivation}",
        criterion=f"100 steps of a loop pay at least {share(thresholds.config_share)} of what all unlocks pay once.",
        reward=pay,
        cycle=cycle,
    )


RULE: Rule[RewardConfig] = Rule(
    id="loop_pays_best",
    name="The best policy is a loop",
    description="A loop that Crafter's rules allow for ever pays so much that walking it is better than unlocking "
    "things. What a lap pays is scored under the configuration itself; how many steps it takes follows from the rules, "
    "with favourable assumptions, so the figure is a bound.",
    find=find,
)
