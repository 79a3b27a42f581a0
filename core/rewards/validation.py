"""Can this reward configuration be used? One sentence where it cannot: what is wrong, where, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace
from numbers import Real
from typing import cast

from core import data
from core.errors import InvalidInput, InvalidReward
from core.params import quoted
from core.rewards.limits import MOST_HELD
from core.rewards.parameters import plain_params
from core.rewards.readers import read_flag, read_named, read_number, read_table, read_text, read_whole
from core.rewards.registry import find_strategy
from core.types import RewardConfig, StateFacts

_PLAIN_NUMBERS = (int, bool, float)

ACTIVE_MODE = "decision_stepwise"


def checked(
    config: RewardConfig,
    *,
    achievements: Collection[str] | None = None,
    items: Collection[str] | None = None,
) -> RewardConfig:
    """`config` with canonical names and plain numbers; two that mean the same come out equal.

    Names are trimmed and case-folded, an alias becomes its strategy's name, a strategy's parameters are filled up
    with their defaults; a strategy's version is added from its second on.
    `achievements` and `items` are the environment's names; where they are given, names in
    weights, limits and tables have to be among them (the default tables' own names are accepted in the tables).
    A mode other than `decision_stepwise` is accepted and means inactive. A lambda of None, 0 or 1 pays the same and is
    kept as it was given, for whoever reads it is told which it was; these three have three hashes.

    Raises InvalidReward.
    """
    if not isinstance(cast(object, config), RewardConfig):
        raise InvalidReward(f"The reward configuration is {quoted(config)}; give a RewardConfig.")
    strategy = find_strategy(read_text(config.strategy, "strategy"))
    counted = None if achievements is None else [*achievements, *data.achievement_count_weights()]
    held = None if items is None else [*items, *data.inventory_weights()]
    return replace(
        config,
        strategy=strategy.name,
        indicator_lambda=None if config.indicator_lambda is None else read_number(config.indicator_lambda, "lambda"),
        weights=read_table(config.weights, "weights", "achievement", achievements),
        k_limits={
            name: read_whole(limit, f'k_limits["{name}"]', "0 or less means no limit")
            for name, limit in read_named(config.k_limits, "k_limits", "achievement", achievements).items()
        },
        enabled=read_flag(config.enabled, "enabled"),
        mode=_mode(config.mode),
        step_beta=read_number(config.step_beta, "step_beta"),
        inventory_weights=read_table(config.inventory_weights, "inventory_weights", "item", held),
        achievement_count_weights=read_table(
            config.achievement_count_weights, "achievement_count_weights", "achievement", counted
        ),
        default_inventory_weight=read_number(config.default_inventory_weight, "default_inventory_weight"),
        default_achievement_count_weight=read_number(
            config.default_achievement_count_weight, "default_achievement_count_weight"
        ),
        params=plain_params(strategy, config.params),
    )


def checked_credit_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """`counts` with canonical names. Raises InvalidReward where a count is no whole number of 0 or more."""
    named = read_named(counts, "credit_counts", "achievement", None)
    whole = {name: read_whole(count, f'credit_counts["{name}"]', "0 or more") for name, count in named.items()}
    for name, count in whole.items():
        if count < 0:
            raise InvalidReward(f'credit_counts["{name}"] is {count}; an unlock is paid 0 times or more.')
    return whole


def check_facts(facts: object) -> None:
    """Raises InvalidInput where these are no facts, or hold what cannot be paid for and stored."""
    if not isinstance(facts, StateFacts):
        raise InvalidInput(f"The facts to be scored are {quoted(facts)}; give StateFacts.")
    for where in ("achievements", "inventory", "achievement_counts"):
        held = getattr(facts, where)
        if not isinstance(held, Mapping):
            raise InvalidInput(f"{where} of the facts is {quoted(held)}; give a table of names and numbers.")
        for name, value in cast(Mapping[object, object], held).items():
            # Almost all are these; to ask an abstract class takes ten times as long, for each of some fifty a state.
            is_number = type(value) in _PLAIN_NUMBERS or isinstance(value, Real)
            if not is_number or not abs(cast(float, value)) <= MOST_HELD:
                raise InvalidInput(
                    f"{where}[{quoted(name)}] of the facts is {quoted(value)}; give a number from "
                    f"-{MOST_HELD:,} to {MOST_HELD:,}."
                )


def check_env_reward(env_reward: object) -> None:
    """Raises InvalidInput where this is no finite number of a sensible size."""
    is_number = type(env_reward) in _PLAIN_NUMBERS or isinstance(env_reward, Real)
    if not is_number or not abs(cast(float, env_reward)) <= MOST_HELD:
        raise InvalidInput(
            f"The environment's reward is {quoted(env_reward)}; give a number from -{MOST_HELD:,} to {MOST_HELD:,}."
        )


def _mode(given: object) -> str:
    mode = read_text(given, "mode").strip().casefold()
    # Any other mode pays nothing, so one that is only misspelt must not pass.
    if mode != ACTIVE_MODE and difflib.get_close_matches(mode, [ACTIVE_MODE], cutoff=0.85):
        raise InvalidReward(f'The mode is "{mode}"; did you mean "{ACTIVE_MODE}"? Any other mode pays nothing.')
    return mode
