"""Does a strategy say of itself what it has to? One sentence where it does not, when it is added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, cast

from core.errors import InvalidConfig, InvalidReward
from core.params import Integer, Number, OneOf, Text, kind_of, quoted
from core.rewards.base import VERSION_PARAM, Strategy
from core.rewards.limits import MOST_OF_A_NAME, MOST_OF_ALL_WORDS

_MOST_EXACT = 2**53  # trainers and browsers read JSON's numbers as floats


def check_strategy(strategy: Any, others: Iterable[type[Strategy[Any]]]) -> None:
    """Raises InvalidReward where this is no class that can be registered beside `others`."""
    if not (isinstance(strategy, type) and issubclass(strategy, Strategy)):
        raise InvalidReward(
            f"{quoted(cast(object, strategy))} is no reward strategy; give a class that extends Strategy."
        )
    kind = cast(type[Strategy[Any]], strategy)
    if missing := sorted(kind.__abstractmethods__):
        raise _wrong(kind, f"lacks {', '.join(missing)}; write it.")
    _check_texts(kind)
    _check_version(kind)
    taken = {name: other for other in others for name in names_of(other)}
    for name in names_of(kind):
        if name in taken:
            raise _wrong(kind, f'has the name "{name}", which means {taken[name].__name__}; choose another.')
        taken[name] = kind
    _check_params(kind)


def names_of(strategy: type[Strategy[Any]]) -> tuple[str, ...]:
    """All names that mean it, its own first."""
    return (strategy.name, *strategy.aliases)


def _wrong(strategy: type[Strategy[Any]], what: str) -> InvalidReward:
    return InvalidReward(f"The reward strategy {strategy.__module__}.{strategy.__qualname__} {what}")


def _check_texts(strategy: type[Strategy[Any]]) -> None:
    for field in ("name", "label", "description"):
        given: object = getattr(strategy, field, None)
        if not isinstance(given, str) or not given.strip():
            raise _wrong(strategy, f"has the {field} {quoted(given)}; give a text that is not empty.")
    aliases = cast(object, strategy.aliases)
    if not isinstance(aliases, tuple):
        raise _wrong(strategy, f"has the aliases {quoted(aliases)}; give a tuple of names.")
    for name in names_of(strategy):
        if not _is_canonical(name):
            raise _wrong(
                strategy,
                f"has the name {quoted(name)}; give text in lower case without outer spaces, of at most "
                f"{MOST_OF_A_NAME} characters.",
            )


def _check_version(strategy: type[Strategy[Any]]) -> None:
    version: object = getattr(strategy, "version", None)
    if type(version) is not int or version < 1:
        raise _wrong(strategy, f"has the version {quoted(version)}; give a whole number from 1 on.")


def _check_params(strategy: type[Strategy[Any]]) -> None:
    kind: Any = strategy.params_type
    if not isinstance(kind, type) or not is_dataclass(kind) or not _is_frozen(kind):
        raise _wrong(strategy, f"has the params_type {quoted(strategy.params_type)}; give a frozen dataclass.")
    for spec in fields(kind):
        try:
            _check_param(spec)
        except InvalidConfig as error:
            raise _wrong(strategy, f"has a parameter that cannot be used. {error}") from error
    words = sum(each.most for each in map(kind_of, fields(kind)) if isinstance(each, Text))
    if words > MOST_OF_ALL_WORDS:
        raise _wrong(
            strategy,
            f"has text parameters of {words:,} characters in all; let them be at most {MOST_OF_ALL_WORDS:,}.",
        )


def _check_param(spec: Field[Any]) -> None:
    if spec.name == VERSION_PARAM:
        raise InvalidReward(f'The name "{VERSION_PARAM}" is kept for the strategy\'s version; choose another.')
    if not spec.name.isidentifier() or not _is_canonical(spec.name):
        raise InvalidReward(f'The name "{quoted(spec.name)[1:-1]}" is not in lower case; names are read without case.')
    if not spec.init:
        raise InvalidReward(f'The parameter "{spec.name}" cannot be given (init=False); leave it out of the record.')
    kind = kind_of(spec)
    match kind:
        case Integer(low, high):
            fits = -_MOST_EXACT <= low <= high <= _MOST_EXACT
        case Number(low, high):
            fits = float("-inf") < low <= high < float("inf")
        case OneOf(names):
            folded = [name.strip().casefold() for name in names]
            fits = len(set(folded)) == len(folded) and all(0 < len(name) <= MOST_OF_A_NAME for name in folded)
        case Text(most):
            fits = most >= 0
    if not fits:
        raise InvalidReward(
            f'The parameter "{spec.name}" has bounds or names by which nothing can be read; give finite bounds (whole '
            "ones up to 2**53), the lower one first, or names that differ without regard to case."
        )
    if spec.default is MISSING or kind.read(spec.default) is None:
        given = "no default" if spec.default is MISSING else f"the default {quoted(spec.default)}"
        raise InvalidReward(f'The parameter "{spec.name}" has {given}; it must be {kind}.')


def _is_canonical(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MOST_OF_A_NAME and name == name.strip().casefold()


def _is_frozen(kind: Any) -> bool:
    return kind.__dataclass_params__.frozen
