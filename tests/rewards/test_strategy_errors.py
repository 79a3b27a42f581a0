"""Errors of a strategy name it and where it failed, and a strategy cannot change the facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from core.analysis.rescore import score
from core.errors import InvalidReward
from core.facts import Change, FactsWriter
from core.facts.columns import FactColumns
from core.params import integer
from core.rewards import STRATEGIES, RewardComponent, RewardConfig, RewardShaper, StateFacts, checked_reward
from core.rewards.base import Strategy

BEFORE = StateFacts({"wake_up": False}, {"wood": 1}, {"wake_up": 0})
AFTER = StateFacts({"wake_up": True}, {"wood": 3}, {"wake_up": 1})


@dataclass(frozen=True)
class OwnParams:
    cups: int = integer(3, label="Cups", description="How many.", low=0, high=9)

    def __post_init__(self) -> None:
        if not self.cups:
            raise ValueError("nothing to drink")


class Own(Strategy[OwnParams]):
    """Does what a test sets."""

    name = "own"
    version = 1
    label = "Own"
    description = "Does what a test sets."
    params_type = OwnParams
    parts: ClassVar[Any] = lambda self, change, credits: iter(())
    column: ClassVar[Any] = lambda self, columns: None

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        return self.parts(change, credits)

    def values(self, columns: FactColumns) -> Any:
        return self.column(columns)


def use(monkeypatch: pytest.MonkeyPatch, **methods: Any) -> None:
    monkeypatch.setitem(STRATEGIES, "own", type("Mine", (Own,), methods))


def shaper() -> RewardShaper:
    return RewardShaper(RewardConfig("own"))


def columns() -> FactColumns:
    writer = FactsWriter()
    for _ in range(3):
        writer.add(BEFORE, AFTER, ["wake_up"], env_reward=1.0, reward=2.0, step_end=1)
    return FactColumns([writer.facts(), FactsWriter().facts()])


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidReward) as caught:
        call()
    assert 'The strategy "own" ' in str(caught.value)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


def part(**fields: Any) -> RewardComponent:
    return RewardComponent(**({"kind": "own", "name": "x", "delta": 1, "weight": 1.0, "value": 1.0} | fields))


@pytest.mark.parametrize("error", [RuntimeError("boom"), ValueError("x" * 10**6), MemoryError(), SystemExit(3)])
def test_an_error_at_a_decision_names_strategy_and_decision(monkeypatch: pytest.MonkeyPatch, error: BaseException):
    fails_third = iter([iter(()), iter(())])
    use(monkeypatch, parts=lambda self, change, credits: next(fails_third, None) or raising(error)())
    scored_twice = shaper()
    for _ in range(2):
        scored_twice.score(BEFORE, AFTER)
    message = message_of(lambda: scored_twice.score(BEFORE, AFTER))
    assert message.startswith(f'The strategy "own" at decision 2 failed: {type(error).__name__}: {str(error)[:200]}')


@pytest.mark.parametrize("parts", [None, [None], [part(value=math.nan)], [part(value=math.inf)], [part(weight=None)]])
def test_components_that_are_not_finite_numbers_are_an_error(monkeypatch: pytest.MonkeyPatch, parts: Any):
    use(monkeypatch, parts=lambda self, change, credits: parts)
    message_of(lambda: shaper().score(BEFORE, AFTER))


def test_numpy_numbers_become_plain_numbers(monkeypatch: pytest.MonkeyPatch):
    given = part(delta=np.int64(2), value=np.float32(0.5), weight=3)
    use(monkeypatch, parts=lambda self, change, credits: [given])
    (found,) = shaper().score(BEFORE, AFTER).components
    assert found == part(delta=2.0, value=0.5, weight=3)
    assert {type(found.delta), type(found.value)} == {float}


def test_a_strategy_may_refuse_its_configuration(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, __init__=raising(OSError("no table")))
    assert message_of(shaper) == 'The strategy "own" cannot be created: OSError: no table'
    message = message_of(lambda: checked_reward(RewardConfig("own", params={"cups": 0})))
    assert message == 'The strategy "own" refuses these parameters: ValueError: nothing to drink'


@pytest.mark.parametrize("table", ["achievements", "inventory", "achievement_counts"])
def test_a_strategy_cannot_change_the_facts(monkeypatch: pytest.MonkeyPatch, table: str):
    def write(self: Any, change: Change, credits: Mapping[str, int]) -> Any:
        getattr(change.after, table)["wood"] = 99
        yield part()

    use(monkeypatch, parts=write)
    states = deepcopy((BEFORE, AFTER))
    message_of(lambda: shaper().score(*states))
    assert states == (BEFORE, AFTER)


@pytest.mark.parametrize(
    "column",
    [
        raising(ZeroDivisionError("division")),
        lambda self, c: np.zeros(1),
        lambda self, c: [1.0] * 3,
        lambda self, c: np.array([0.0, math.nan, 1.0]),
        lambda self, c: c.env_rewards.fill(9),
        lambda self, c: c.levels(1, "wood")[0].fill(9),
    ],
)
def test_an_error_at_all_decisions_at_once_names_the_strategy(monkeypatch: pytest.MonkeyPatch, column: Any):
    use(monkeypatch, column=column)
    stored = columns()
    assert "failed at all 3 decisions at once" in message_of(lambda: score(stored, RewardConfig("own")))
    assert stored.env_rewards.tolist() == [1.0] * 3
