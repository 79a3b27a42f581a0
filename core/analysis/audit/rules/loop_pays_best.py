"""A configuration whose best policy is a loop."""

from __future__ import annotations

from collections.abc import Iterator

from core.analysis.audit.crafter import KNOWN_LOOPS, UNLOCKS, KnownLoop
from core.analysis.audit.pay import loop_pay, unlocks_pay
from core.analysis.audit.records import Alert, PayingLoop, Rule, Severity, amount, share
from core.analysis.audit.thresholds import AuditThresholds
from core.analysis.audit.trail import TINY
from core.text import plural
from core.types import RewardConfig


def find(config: RewardConfig, thresholds: AuditThresholds) -> Iterator[Alert]:
    """One alert for each known loop that pays too much, the best-paid first."""
    if not config.is_active:
        return
    unlocks = unlocks_pay(config)
    for loop, paying in known_loops_by_pay(config):
        if paying.per_100_steps >= min_pay(unlocks, thresholds):
            yield _alert(loop, paying, unlocks, thresholds)


def known_loops_by_pay(config: RewardConfig) -> list[tuple[KnownLoop, PayingLoop]]:
    """The best-paid first. Raises InvalidReward."""
    return sorted(((loop, _paying_loop(config, loop)) for loop in KNOWN_LOOPS), key=lambda pair: -pair[1].per_100_steps)


def min_pay(unlocks: float, thresholds: AuditThresholds) -> float:
    """What 100 steps of a loop must pay for an alert. unlocks: what all unlocks pay together."""
    return max(TINY, thresholds.config_share * unlocks)


def _paying_loop(config: RewardConfig, loop: KnownLoop) -> PayingLoop:
    names = dict.fromkeys(event.done for event in loop.events if event.done)
    return PayingLoop(tuple(names) or (loop.name,), loop.steps, loop_pay(config, loop))


def _alert(loop: KnownLoop, paying: PayingLoop, unlocks: float, thresholds: AuditThresholds) -> Alert:
    pay = paying.per_100_steps
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
        loop=paying,
    )


RULE: Rule[RewardConfig] = Rule(
    id="loop_pays_best",
    name="The best policy is a loop",
    description="A loop that Crafter's rules allow forever pays so much that repeating it is better than unlocking "
    "things. Its pay is scored under the configuration itself; how many steps it takes follows from the rules, with "
    "favourable assumptions, so the figure is an upper bound.",
    thresholds=("config_share",),
    find=find,
)
