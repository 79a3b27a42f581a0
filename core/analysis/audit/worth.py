"""What a configuration pays for unlocks and for a lap of a loop: scored by the shaper itself, on made-up facts.

Nothing here reads weights, so that it holds for strategies that are added later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from core.analysis.audit.crafter import MOST, UNLOCKS, VITALS, Event, Loop
from core.rewards import RewardShaper
from core.types import RewardConfig, StateFacts

_ENV_UNLOCK, _ENV_HEALTH = 1.0, 0.1  # what Crafter itself pays for an unlock, and for each point of health
_ITEMS = tuple(dict.fromkeys([*VITALS, *(item for gains in UNLOCKS.values() for item in gains)]))


def unlocks_pay(config: RewardConfig) -> float:
    """What all of Crafter's unlocks pay together, each as a decision of its own with what it brings.

    Raises InvalidReward for a configuration that cannot be used.
    """
    return math.fsum(_each_unlock(config))


def _each_unlock(config: RewardConfig) -> list[float]:
    shaper = RewardShaper(config)
    facts = StateFacts(dict.fromkeys(UNLOCKS, False), dict.fromkeys(_ITEMS, 0), dict.fromkeys(UNLOCKS, 0), (0, 0))
    pay: list[float] = []
    for name, gains in UNLOCKS.items():
        # A vital needs room to rise in, so each unlock starts with none of what it brings.
        before = replace(facts, inventory={**facts.inventory, **dict.fromkeys(gains, 0)})
        facts = replace(_after(before, Event(gains, name)), achievements={**before.achievements, name: True})
        pay.append(shaper.score(before, facts, env_reward=_ENV_UNLOCK).total)
    return pay


def unlock_worth(config: RewardConfig) -> float:
    """The mean size of what an unlock pays, gains and losses alike; the measure that other amounts are compared with.

    0 where nothing is paid for any. Raises InvalidReward.
    """
    return math.fsum(map(abs, _each_unlock(config))) / len(UNLOCKS)


def lap_pay(config: RewardConfig, loop: Loop) -> float:
    """The most that one lap adds to what standing still pays, when everything was unlocked before.

    A loop without events is standing still itself, and pays what that does. Raises InvalidReward.

    Rewards are paid for each decision, and falls may pay nothing: place and collect in one decision leave the
    inventory as it was. So a lap is scored step by step, the steps in which nothing happens included, and as one
    decision; the larger pay counts.
    """
    start = StateFacts(
        dict.fromkeys(UNLOCKS, True),
        {**dict.fromkeys(_ITEMS, MOST), **loop.held},
        dict.fromkeys(UNLOCKS, 100),
        (0, 0),
    )
    states = [start, *_walk(start, loop.events)]
    stepwise = [_pay(config, before, after) for before, after in pairwise(states)]
    still = _pay(config, start, start)
    if not loop.events:
        return loop.steps * still
    idle = (loop.steps - len(loop.events)) * still
    free = max(0.0, still)  # where standing still costs, a loop has to earn that back
    return max(math.fsum([*stepwise, idle]) - loop.steps * free, _pay(config, start, states[-1]) - free)


def _pay(config: RewardConfig, before: StateFacts, after: StateFacts) -> float:
    env_reward = _ENV_HEALTH * (after.inventory["health"] - before.inventory["health"])
    return RewardShaper(config).score(before, after, env_reward=env_reward).total


def _walk(facts: StateFacts, events: Iterable[Event]) -> Iterator[StateFacts]:
    for event in events:
        facts = _after(facts, event)
        yield facts


def _after(facts: StateFacts, event: Event) -> StateFacts:
    counts = _plus(facts.achievement_counts, {event.done: 1}) if event.done else facts.achievement_counts
    return replace(facts, inventory=_plus(facts.inventory, event.inventory), achievement_counts=counts)


def _plus(amounts: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    return {**amounts, **{name: amounts[name] + change for name, change in changes.items()}}
