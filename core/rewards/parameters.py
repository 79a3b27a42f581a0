"""The parameters of a strategy: `RewardConfig.params`, read by what the strategy says that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from numbers import Real
from typing import Any

from core.errors import InvalidReward, did_you_mean
from core.params import Integer, Kind, Number, OneOf, Text, kind_of, quoted
from core.rewards.base import VERSION_PARAM, Strategy
from core.rewards.guard import failing_as
from core.rewards.readers import read_named, read_text, read_whole, whole_characters, without_fraction


def read_params(strategy: type[Strategy[Any]], given: Mapping[str, Any]) -> Any:
    """The strategy's parameter record, defaults filled in.

    Raises InvalidReward for a name that the strategy does not have, and for a value that its parameter does not take.
    """
    return _record(strategy, _values(strategy, given))


def plain_params(strategy: type[Strategy[Any]], given: Mapping[str, Any]) -> dict[str, int | float | str]:
    """The same as plain values, with the strategy's version: what a checked configuration holds. Raises as well."""
    values = _values(strategy, given)
    _record(strategy, values)
    return values | _version_of(strategy)


def _record(strategy: type[Strategy[Any]], values: Mapping[str, Any]) -> Any:
    # Its own code may refuse what its fields allow.
    with failing_as(f'The strategy "{strategy.name}" does not take these parameters', "Give others."):
        return strategy.params_type(**values)


def _values(strategy: type[Strategy[Any]], given: Mapping[str, Any]) -> dict[str, int | float | str]:
    """In the order of the fields; a default reads as if it had been given."""
    specs = {spec.name: spec for spec in fields(strategy.params_type)}
    named = read_named(given, "params", "", None)
    if VERSION_PARAM in named:
        _check_version(strategy, named.pop(VERSION_PARAM))
    for name in named:
        if name not in specs:
            accepted = ", ".join(specs) or "none"
            hint = did_you_mean(name, specs) or "."
            raise InvalidReward(f'The strategy "{strategy.name}" has no parameter "{name}"{hint} It has: {accepted}.')
    return {
        name: _param(named.get(name, spec.default), f'params["{name}"]', kind_of(spec)) for name, spec in specs.items()
    }


def _version_of(strategy: type[Strategy[Any]]) -> dict[str, int]:
    """The first version adds nothing, so that the hashes of configurations that were stored before stay true."""
    return {VERSION_PARAM: strategy.version} if strategy.version > 1 else {}


def _param(value: object, where: str, kind: Kind) -> int | float | str:
    match kind:
        case OneOf():
            return _chosen(value, where, kind)
        case Text():
            read = kind.read(value)
            read = None if read is None else whole_characters(read, where)
        case Integer():
            read = kind.read(without_fraction(value))
        case Number():
            if isinstance(value, bool) or not isinstance(value, Real):
                raise InvalidReward(f"{where} is {quoted(value)}; give a number, such as 0.5.")
            read = kind.read(value)
    if read is None:
        raise InvalidReward(f"{where} is {quoted(value)}; give {kind}.")
    return read


def _chosen(value: object, where: str, kind: OneOf) -> str:
    by_name = {name.strip().casefold(): name for name in kind.names}
    chosen = read_text(value, where).strip().casefold()
    if chosen not in by_name:
        hint = did_you_mean(chosen, by_name) or "."
        raise InvalidReward(f"{where} is {quoted(value)}{hint} Choose one of: {', '.join(kind.names)}.")
    return by_name[chosen]


def _check_version(strategy: type[Strategy[Any]], value: object) -> None:
    version = read_whole(value, f'params["{VERSION_PARAM}"]', "the strategy's version")
    if version < 1:
        raise InvalidReward(
            f'params["{VERSION_PARAM}"] is {version}; versions count from 1, and "{strategy.name}" has version '
            f"{strategy.version}: give that, or leave it out."
        )
    if version > strategy.version:
        raise InvalidReward(
            f'The strategy "{strategy.name}" is asked for in version {version} and this Craftscope has version '
            f"{strategy.version}; update Craftscope, or leave {VERSION_PARAM} out."
        )
