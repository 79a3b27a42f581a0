"""The boundary to strategies, which anybody may write: what they raise, and what they return that is no reward, is said
in words, with the strategy's name and where it happened."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidReward
from core.params import quoted
from core.rewards.base import Change, Strategy
from core.rewards.limits import MOST_COMPONENTS, MOST_PAID
from core.types import RewardComponent, RewardConfig

if TYPE_CHECKING:  # it brings scipy, which no worker needs
    from core.facts.columns import FactColumns

_MOST_OF_A_FAILURE = 300
_PLAIN = (int, float)
_NUMBERS = ("delta", "weight", "value")


@contextmanager
def failing_as(what: str, advice: str) -> Generator[None]:
    """Whatever foreign code raises in here becomes an InvalidReward: what failed, how, and what to do."""
    try:
        yield
    except (Exception, SystemExit) as error:  # noqa: BLE001  anybody may write a strategy; it may raise, or exit
        raise InvalidReward(f"{what}: {_failure(error)} {advice}") from error


def made(kind: type[Strategy[Any]], config: RewardConfig, params: Any) -> Strategy[Any]:
    """The strategy. Raises InvalidReward where it cannot be made."""
    with failing_as(f'The strategy "{kind.name}" cannot be made', "Mend its `__init__`."):
        return kind(config, params)


def paid_components(
    strategy: Strategy[Any], change: Change, credits: Mapping[str, int], decision: int
) -> tuple[RewardComponent, ...]:
    """What `change` earns, with plain and finite numbers. decision: which one it is, for the sentence.

    Raises InvalidReward where the strategy fails or yields something else.
    """
    where = f'The strategy "{strategy.name}" at decision {decision}'
    with failing_as(f"{where} failed", "Mend its `components`."):
        given: tuple[object, ...] = tuple(islice(strategy.components(change, credits), MOST_COMPONENTS + 1))
    if len(given) > MOST_COMPONENTS:
        raise InvalidReward(f"{where} yields more than {MOST_COMPONENTS:,} components; let its `components` end.")
    parts = tuple(_component(part, where) for part in given)
    if sum(abs(part.value) for part in parts) > MOST_PAID:
        raise InvalidReward(f"{where} pays more than {MOST_PAID:g} in all; let its `components` pay less.")
    return parts


def paid_values(strategy: Strategy[Any], columns: FactColumns) -> NDArray[np.float64] | None:
    """What every decision earns, finite float64 (N,); None where the strategy has no form for columns.

    Raises InvalidReward where the strategy fails or returns something else.
    """
    where = f'The strategy "{strategy.name}"'
    n = columns.n_decisions
    with (
        failing_as(f"{where} failed at scoring all {n:,} decisions at once", "Mend its `values`."),
        np.errstate(all="ignore"),  # of what is no number, the sentence below says so
    ):
        given: Any = strategy.values(columns)
    if given is None:
        return None
    if not _is_column(given, n):
        raise InvalidReward(
            f"{where} gives {_described(given)} for {n:,} decisions; let its `values` return float64 of shape ({n},)."
        )
    values = np.asarray(given, np.float64)
    wrong = np.flatnonzero(~(np.abs(values) <= MOST_PAID))  # true for NaN too
    if len(wrong):
        raise InvalidReward(
            f"{where} gives {values[wrong[0]]:g} for decision {wrong[0]:,} of {n:,}; each has to be a finite number up "
            f"to {MOST_PAID:g}. Mend its `values`, or the stored rewards that it reads."
        )
    return values


def _failure(error: BaseException) -> str:
    """What foreign code raised, as a sentence that ends."""
    try:
        said = " ".join(str(error).split()).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # noqa: BLE001  an exception of somebody's own may fail to say what it is
        said = ""
    short = said if len(said) <= _MOST_OF_A_FAILURE else said[: _MOST_OF_A_FAILURE - 3] + "..."
    sentence = f"{type(error).__name__}{f': {short}' if short else ''}"
    return sentence if sentence.endswith(".") else sentence + "."


def _component(part: object, where: str) -> RewardComponent:
    if not isinstance(part, RewardComponent):
        raise InvalidReward(f"{where} yields {quoted(part)}; let its `components` yield RewardComponents.")
    _check_name(part.kind, "kind", where)
    _check_name(part.name, "name", where)
    _check_count(part.count_prior, "count_prior", where)
    _check_count(part.count_limit, "count_limit", where)
    is_plain = type(part.delta) in _PLAIN and type(part.weight) in _PLAIN and type(part.value) in _PLAIN
    if not is_plain:
        part = replace(part, **{name: _plain(getattr(part, name), name, where) for name in _NUMBERS})
    # As one comparison each, for this runs for every component of every decision; false for NaN.
    if not (abs(part.delta) <= MOST_PAID and abs(part.weight) <= MOST_PAID and abs(part.value) <= MOST_PAID):
        name = next(name for name in _NUMBERS if not abs(getattr(part, name)) <= MOST_PAID)
        raise InvalidReward(
            f"{where} yields a component whose {name} is {quoted(getattr(part, name))}; let its `components` yield "
            f"finite numbers up to {MOST_PAID:g}."
        )
    return part


def _check_name(name: object, field: str, where: str) -> None:
    if type(name) is str and name.isascii() and name.isprintable():
        return
    # NUL and halves of characters cannot be stored in every database.
    if not isinstance(name, str) or "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidReward(
            f"{where} yields a component whose {field} is {quoted(name)}; let its `components` yield whole text."
        )


def _check_count(count: object, field: str, where: str) -> None:
    if count is not None and type(count) is not int:
        raise InvalidReward(
            f"{where} yields a component whose {field} is {quoted(count)}; let its `components` yield an int or None."
        )


def _plain(number: object, field: str, where: str) -> float:
    """A number of numpy as one of Python, which JSON can hold."""
    if type(number) in _PLAIN:
        return cast(float, number)
    if isinstance(number, bool) or not isinstance(number, Real):
        raise InvalidReward(
            f"{where} yields a component whose {field} is {quoted(number)}; let its `components` yield numbers."
        )
    return float(number)


def _is_column(given: object, n: int) -> bool:
    if not isinstance(given, np.ndarray):
        return False
    array = cast(NDArray[Any], given)
    return array.dtype == np.float64 and array.shape == (n,)


def _described(given: object) -> str:
    if not isinstance(given, np.ndarray):
        return quoted(given)
    array = cast(NDArray[Any], given)
    return f"{array.dtype} of shape {array.shape}"
