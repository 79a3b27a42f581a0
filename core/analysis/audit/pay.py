"""What decisions and configurations pay: for unlocks, beside them, and for one repeat of a loop.

What a configuration pays is scored by `RewardShaper` on made-up facts, so it holds for every strategy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise

from core.analysis.audit.crafter import MAX_AMOUNT, UNLOCKS, Event, KnownLoop
from core.env.rules import VITALS
from core.rewards import RewardShaper
from core.types import Decision, RewardComponent, RewardConfig, StateFacts

_REPEATABLE = ("inventory", "achievement_count")  # kinds of components that can pay for the same thing many times
_ENV_UNLOCK, _ENV_HEALTH = 1.0, 0.1  # what Crafter itself pays for an unlock, and for each point of health
_ITEMS = tuple(dict.fromkeys([*VITALS, *(item for gains in UNLOCKS.values() for item in gains)]))


def brought(part: RewardComponent, unlock: str) -> float:
    """How much of a component's rise comes from an unlock: 1 for its own count, or what it adds to the inventory."""
    return 1 if part.name == unlock else UNLOCKS.get(unlock, {}).get(part.name, 0)


def own_share(part: RewardComponent, amount: float) -> float:
    """The share, 0 to 1, that `amount` is of a component's rise."""
    return min(1.0, amount / part.delta) if part.delta > 0 else 0.0


def paid_beside(decision: Decision) -> Iterator[tuple[str, str, float]]:
    """(kind, name, pay) of each component, without what it paid for unlocks."""
    reward = decision.reward
    for part in reward.components:
        yield part.kind, part.name, reward.effective_lambda * part.value * (1 - _for_unlocks(part, decision.unlocked))


def pay_for(decision: Decision, names: Collection[str]) -> float:
    """A decision's pay, beside its unlocks, for doing these achievements: for their counts and what they bring.

    Components of unknown kinds may pay for anything, so they count too.
    """
    things = {*names, *(item for name in names for item in UNLOCKS.get(name, {}))}
    return math.fsum(pay for kind, name, pay in paid_beside(decision) if kind not in _REPEATABLE or name in things)


def pay_beside(decision: Decision) -> float:
    """A decision's pay without what it paid for unlocks."""
    if not decision.unlocked:
        return decision.reward.total
    return math.fsum(pay for _, _, pay in paid_beside(decision))


def _for_unlocks(part: RewardComponent, unlocked: tuple[str, ...]) -> float:
    if not unlocked:
        return 0.0
    if part.kind in _REPEATABLE:
        return own_share(part, sum(brought(part, name) for name in unlocked))
    if part.kind == "environment" and part.delta > len(unlocked):
        return own_share(part, len(unlocked))  # it pays 1 for each, and the rest for health
    return 1.0  # an unknown kind may pay for the unlock alone


def unlocks_pay(config: RewardConfig) -> float:
    """What all unlocks pay together, each in one decision with what it brings. Raises InvalidReward."""
    return math.fsum(_each_unlock(config))


def _each_unlock(config: RewardConfig) -> list[float]:
    shaper = RewardShaper(config)
    facts = StateFacts(dict.fromkeys(UNLOCKS, False), dict.fromkeys(_ITEMS, 0), dict.fromkeys(UNLOCKS, 0), (0, 0))
    pay: list[float] = []
    for name, gains in UNLOCKS.items():
        # Vitals need room to rise, so each unlock starts with none of what it brings.
        before = replace(facts, inventory={**facts.inventory, **dict.fromkeys(gains, 0)})
        facts = replace(_after(before, Event(gains, name)), achievements={**before.achievements, name: True})
        pay.append(shaper.score(before, facts, env_reward=_ENV_UNLOCK).total)
    return pay


def unlock_worth(config: RewardConfig) -> float:
    """The mean absolute pay of an unlock, the unit of thresholds; 0 if no unlock is paid. Raises InvalidReward."""
    return math.fsum(map(abs, _each_unlock(config))) / len(UNLOCKS)


def loop_pay(config: RewardConfig, loop: KnownLoop) -> float:
    """The most that one repeat adds to what standing still pays, after everything was unlocked. Raises InvalidReward.

    Rewards are paid per decision, and decreases may cost nothing: place and collect in one decision leave the inventory
    unchanged. So a repeat is scored step by step, idle steps included, and as one decision; the larger pay counts.
    """
    start = StateFacts(
        dict.fromkeys(UNLOCKS, True),
        {**dict.fromkeys(_ITEMS, MAX_AMOUNT), **loop.held},
        dict.fromkeys(UNLOCKS, 100),
        (0, 0),
    )
    states = list(accumulate(loop.events, _after, initial=start))
    stepwise = [_pay(config, before, after) for before, after in pairwise(states)]
    still = _pay(config, start, start)
    if not loop.events:  # standing still itself
        return loop.steps * still
    idle = (loop.steps - len(loop.events)) * still
    free = max(0.0, still)  # if standing still costs, a loop has to earn that back
    return max(math.fsum([*stepwise, idle]) - loop.steps * free, _pay(config, start, states[-1]) - free)


def _pay(config: RewardConfig, before: StateFacts, after: StateFacts) -> float:
    env_reward = _ENV_HEALTH * (after.inventory["health"] - before.inventory["health"])
    return RewardShaper(config).score(before, after, env_reward=env_reward).total


def _after(facts: StateFacts, event: Event) -> StateFacts:
    counts = _plus(facts.achievement_counts, {event.done: 1}) if event.done else facts.achievement_counts
    return replace(facts, inventory=_plus(facts.inventory, event.inventory), achievement_counts=counts)


def _plus(amounts: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    return {**amounts, **{name: amounts[name] + change for name, change in changes.items()}}
