"""Validates reward configurations."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import asdict
from typing import Any, Final

from core import data
from core.errors import InvalidConfig, InvalidReward, did_you_mean
from core.params import Integer, Kind, Number, read_name, read_params, read_table, read_value
from core.rewards.base import VERSION_PARAM, Strategy, strategy_errors
from core.rewards.registry import find_strategy
from core.text import quoted
from core.types import RewardConfig

ACTIVE_MODE: Final = "decision_stepwise"

_WEIGHT: Final = Number(-1e9, 1e9)
_LIMIT: Final = Integer(-(10**9), 10**9)


def checked_reward(
    config: RewardConfig, *, achievements: Collection[str] | None = None, items: Collection[str] | None = None
) -> RewardConfig:
    """`config` with canonical names and plain numbers; two that mean the same become equal.

    Names are trimmed and case-folded, an alias becomes its strategy's name, and missing parameters get their defaults.
    achievements, items: the environment's names; if given, names in weights, limits and tables must be among them (the
    tables may also contain the names of the default tables). A mode other than `decision_stepwise` means inactive.
    A lambda of None, 0 or 1 pays the same but is not changed, because pages and trainers show it; the three have three
    hashes.

    Raises InvalidReward, which names the entry and what is allowed.
    """
    strategy = find_strategy(config.strategy)
    counted = None if achievements is None else [*achievements, *data.achievement_count_weights()]
    held = None if items is None else [*items, *data.inventory_weights()]
    try:
        return RewardConfig(
            strategy=strategy.name,
            indicator_lambda=None if config.indicator_lambda is None else _weight(config, "indicator_lambda"),
            weights=_table(config, "weights", _WEIGHT, "achievement", achievements),
            k_limits=_table(config, "k_limits", _LIMIT, "achievement", achievements),
            enabled=_flag(config.enabled),
            mode=_mode(config.mode),
            step_beta=_weight(config, "step_beta"),
            inventory_weights=_table(config, "inventory_weights", _WEIGHT, "item", held),
            achievement_count_weights=_table(config, "achievement_count_weights", _WEIGHT, "achievement", counted),
            default_inventory_weight=_weight(config, "default_inventory_weight"),
            default_achievement_count_weight=_weight(config, "default_achievement_count_weight"),
            params=_plain_params(strategy, config.params),
        )
    except InvalidConfig as error:
        raise InvalidReward(str(error)) from error


def build_params(strategy: type[Strategy[Any]], given: object) -> Any:
    """The strategy's `params_type`, missing values at their defaults. Raises InvalidConfig."""
    values = read_table(given, "params")
    version = values.pop(VERSION_PARAM, 1)
    if Integer(1, strategy.version).read(version) is None:
        raise InvalidConfig(
            f'params["{VERSION_PARAM}"] is {quoted(version)}, and the strategy "{strategy.name}" has version '
            f"{strategy.version} here; update Craftscope, or leave {VERSION_PARAM} out."
        )
    with strategy_errors(f'The strategy "{strategy.name}" refuses these parameters'):
        return read_params(strategy.params_type, values, f'strategy "{strategy.name}"')


def _plain_params(strategy: type[Strategy[Any]], given: object) -> dict[str, Any]:
    params = asdict(build_params(strategy, given))
    # Version 1 adds nothing: configurations that were stored before there were versions must keep their hashes.
    return params | ({VERSION_PARAM: strategy.version} if strategy.version > 1 else {})


def _weight(config: RewardConfig, field: str) -> float:
    return read_value(getattr(config, field), _WEIGHT, field)


def _table(config: RewardConfig, field: str, kind: Kind, what: str, accepted: Collection[str] | None) -> dict[str, Any]:
    table = read_table(getattr(config, field), field)
    for name, value in table.items():
        if accepted is not None and name not in accepted:
            hint = did_you_mean(name, accepted) or "."
            known = ", ".join(dict.fromkeys(accepted))
            raise InvalidConfig(f'{field} names the {what} "{name}", which is not known{hint} Known are: {known}.')
        table[name] = read_value(value, kind, f'{field}["{name}"]')
    return table


def _flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidConfig(f"enabled is {quoted(given)}; give true or false.")
    return given


def _mode(given: object) -> str:
    mode = read_name(given, "mode")
    # Any other mode pays nothing, so a misspelt one must not be accepted.
    if mode != ACTIVE_MODE and difflib.get_close_matches(mode, [ACTIVE_MODE], cutoff=0.85):
        raise InvalidConfig(f'The mode is "{mode}"; did you mean "{ACTIVE_MODE}"? Any other mode pays nothing.')
    return mode
