"""Can this reward configuration be used? One sentence where it cannot: what is wrong, where, what to do."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from numbers import Integral, Real
from typing import Any, cast

from core import data
from core.errors import InvalidInput, InvalidReward, did_you_mean
from core.params import Kind, OneOf, Words, kind_of
from core.rewards.base import Strategy
from core.rewards.registry import find_strategy
from core.types import RewardConfig, StateFacts

# Sums of products of such numbers stay finite, whatever a state holds.
LARGEST = 1e100

# More unlocks than any episode has; it keeps limits within what a database column holds.
MOST_CREDITS = 1_000_000_000

# The columns of stored reward facts hold no more.
MOST_HELD = 2**31 - 1

_PLAIN_NUMBERS = (int, bool, float)

ACTIVE_MODE = "decision_stepwise"

# Where a checked configuration says which version of its strategy earned what is stored; it counts in the hash.
VERSION_PARAM = "strategy_version"


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
    A mode other than `decision_stepwise` is accepted and means inactive.

    Raises InvalidReward.
    """
    if not isinstance(cast(object, config), RewardConfig):
        raise InvalidReward(f"The reward configuration is {reprlib.repr(config)}; give a RewardConfig.")
    strategy = find_strategy(_text(config.strategy, "strategy"))
    counted = None if achievements is None else [*achievements, *data.achievement_count_weights()]
    held = None if items is None else [*items, *data.inventory_weights()]
    return replace(
        config,
        strategy=strategy.name,
        indicator_lambda=None if config.indicator_lambda is None else _number(config.indicator_lambda, "lambda"),
        weights=_table(config.weights, "weights", "achievement", achievements),
        k_limits={
            name: _whole(limit, f'k_limits["{name}"]', "0 or less means no limit")
            for name, limit in _named(config.k_limits, "k_limits", "achievement", achievements).items()
        },
        enabled=_flag(config.enabled, "enabled"),
        mode=_mode(config.mode),
        step_beta=_number(config.step_beta, "step_beta"),
        inventory_weights=_table(config.inventory_weights, "inventory_weights", "item", held),
        achievement_count_weights=_table(
            config.achievement_count_weights, "achievement_count_weights", "achievement", counted
        ),
        default_inventory_weight=_number(config.default_inventory_weight, "default_inventory_weight"),
        default_achievement_count_weight=_number(
            config.default_achievement_count_weight, "default_achievement_count_weight"
        ),
        params=asdict(read_params(strategy, config.params)) | _version_of(strategy),
    )


def checked_credit_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """`counts` with canonical names. Raises InvalidReward where a count is no whole number of 0 or more."""
    named = _named(counts, "credit_counts", "achievement", None)
    whole = {name: _whole(count, f'credit_counts["{name}"]', "0 or more") for name, count in named.items()}
    for name, count in whole.items():
        if count < 0:
            raise InvalidReward(f'credit_counts["{name}"] is {count}; an unlock is paid 0 times or more.')
    return whole


def check_facts(facts: object) -> None:
    """Raises InvalidInput where these are no facts, or hold what cannot be paid for and stored."""
    if not isinstance(facts, StateFacts):
        raise InvalidInput(f"The facts to be scored are {reprlib.repr(facts)}; give StateFacts.")
    for where in ("achievements", "inventory", "achievement_counts"):
        held = getattr(facts, where)
        if not isinstance(held, Mapping):
            raise InvalidInput(f"{where} of the facts is {reprlib.repr(held)}; give a table of names and numbers.")
        for name, value in cast(Mapping[object, object], held).items():
            # Almost all are these; to ask an abstract class takes ten times as long, for each of some fifty a state.
            is_number = type(value) in _PLAIN_NUMBERS or isinstance(value, Real)
            if not is_number or not abs(cast(float, value)) <= MOST_HELD:
                raise InvalidInput(
                    f"{where}[{reprlib.repr(name)}] of the facts is {reprlib.repr(value)}; give a number from "
                    f"-{MOST_HELD:,} to {MOST_HELD:,}."
                )


def read_params(strategy: type[Strategy[Any]], given: Mapping[str, Any]) -> Any:
    """The strategy's parameter record, defaults filled in.

    Raises InvalidReward for a name that the strategy does not have and for a value that is no number in range or
    none of its choices.
    """
    known = {field.name: field for field in fields(strategy.params_type)}
    values: dict[str, float | str] = {}
    for name, value in _named(given, "params", "", None).items():
        if name == VERSION_PARAM:
            _check_version(strategy, value)
            continue
        if name not in known:
            accepted = ", ".join(known) or "none"
            hint = did_you_mean(name, known) or "."
            raise InvalidReward(f'The strategy "{strategy.name}" has no parameter "{name}"{hint} It has: {accepted}.')
        values[name] = _param(value, f'params["{name}"]', kind_of(known[name]))
    return strategy.params_type(**values)


def _param(value: object, where: str, kind: Kind) -> float | str:
    if isinstance(kind, OneOf):
        chosen = _text(value, where).strip().casefold()
        if chosen not in kind.names:
            hint = did_you_mean(chosen, kind.names) or "."
            raise InvalidReward(f"{where} is {reprlib.repr(value)}{hint} Choose one of: {', '.join(kind.names)}.")
        return chosen
    given = kind.read(value) if isinstance(kind, Words) else kind.read(_number(value, where))
    if given is None:
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give {kind}.")
    return given


def _version_of(strategy: type[Strategy[Any]]) -> dict[str, int]:
    """The first version adds nothing, so that the hashes of configurations that were stored before stay true."""
    return {VERSION_PARAM: strategy.version} if strategy.version > 1 else {}


def _check_version(strategy: type[Strategy[Any]], value: object) -> None:
    version = _whole(value, f'params["{VERSION_PARAM}"]', "the strategy's version")
    if version > strategy.version:
        raise InvalidReward(
            f'The strategy "{strategy.name}" is asked for in version {version} and this Craftscope has version '
            f"{strategy.version}; update Craftscope, or leave {VERSION_PARAM} out."
        )


def _table(given: object, where: str, what: str, accepted: Collection[str] | None) -> dict[str, float]:
    named = _named(given, where, what, accepted)
    return {name: _number(value, f'{where}["{name}"]') for name, value in named.items()}


def _named(given: object, where: str, what: str, accepted: Collection[str] | None) -> dict[str, object]:
    """The entries under canonical names, each known and given once."""
    if not isinstance(given, Mapping):
        raise InvalidReward(f"{where} is {reprlib.repr(given)}; give a table of names and numbers.")
    entries: dict[str, object] = {}
    for raw_name, value in cast(Mapping[object, object], given).items():
        name = _text(raw_name, f"A name in {where}").strip().casefold()
        if accepted is not None and name not in accepted:
            hint = did_you_mean(name, accepted) or "."
            names = ", ".join(dict.fromkeys(accepted))
            raise InvalidReward(f'{where} names the {what} "{name}", which is not known{hint} Known are: {names}.')
        if name in entries:
            raise InvalidReward(f'{where} names "{name}" twice (case and outer spaces do not count); keep one of them.')
        entries[name] = value
    return entries


def _mode(given: object) -> str:
    mode = _text(given, "mode").strip().casefold()
    # Any other mode pays nothing, so one that is only misspelt must not pass.
    if mode != ACTIVE_MODE and difflib.get_close_matches(mode, [ACTIVE_MODE], cutoff=0.85):
        raise InvalidReward(f'The mode is "{mode}"; did you mean "{ACTIVE_MODE}"? Any other mode pays nothing.')
    return mode


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give a text that is not empty.")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give true or false.")
    return value


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give a number, such as 0.5.")
    try:
        number = float(value)
    except OverflowError:  # an int with hundreds of digits
        number = math.inf
    if not -LARGEST <= number <= LARGEST:
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give a finite number between -1e100 and 1e100.")
    return number


def _whole(value: object, where: str, meaning: str) -> int:
    # A float without a fraction passes: tables edited in a browser hand back 2.0 where a person typed 2.
    if isinstance(value, Real) and not isinstance(value, bool | Integral) and float(value).is_integer():
        value = int(float(value))
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give a whole number ({meaning}).")
    number = int(value)
    if abs(number) > MOST_CREDITS:
        raise InvalidReward(f"{where} is {reprlib.repr(value)}; give at most {MOST_CREDITS:,} ({meaning}).")
    return number
