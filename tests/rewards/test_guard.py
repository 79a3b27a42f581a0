"""What a strategy raises, or returns that is no reward, is a sentence with its name; and it changes nothing it sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
import pytest

from core.analysis.rescore import breakdowns, score
from core.errors import InvalidReward
from core.facts import FactsWriter
from core.facts.columns import FactColumns
from core.rewards import STRATEGIES, RewardComponent, RewardConfig, RewardShaper, StateFacts
from core.rewards.base import Change, NoParams, Strategy

BEFORE = StateFacts({"wake_up": False}, {"wood": 1}, {"wake_up": 0})
AFTER = StateFacts({"wake_up": True}, {"wood": 3}, {"wake_up": 1})


class Own(Strategy[NoParams]):
    """Does what a test says."""

    name = "own"
    version = 1
    label = "Own"
    description = "Does what a test says."
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


def columns_of(n: int = 3) -> FactColumns:
    writer = FactsWriter()
    for _ in range(n):
        writer.add(BEFORE, AFTER, ["wake_up"], env_reward=1.0, reward=2.0, step_end=1)
    return FactColumns([writer.facts(), FactsWriter().facts()])


def refusal(call: Callable[[], object]) -> InvalidReward:
    with pytest.raises(InvalidReward) as caught:
        call()
    assert '"own"' in str(caught.value)
    assert len(str(caught.value)) < 600
    return caught.value


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


def part(**fields: Any) -> RewardComponent:
    return RewardComponent(**({"kind": "own", "name": "x", "delta": 1, "weight": 1.0, "value": 1.0} | fields))


def yielding(*parts: Any) -> Callable[..., Any]:
    return lambda self, change, credits: iter(parts)


# ------------------------------------------------------------------------------------------------ components


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("boom"), "RuntimeError: boom. Mend"),
        (KeyError(), "KeyError. Mend"),
        (ValueError("two\nlines."), "ValueError: two lines. Mend"),
        (ValueError("x" * 10**6), "xxx... Mend"),
        (ValueError("\ud800"), "ValueError: ?. Mend"),
        (Mute(), "Mute. Mend"),
        (InvalidReward("no"), "InvalidReward: no. Mend"),
        (StopIteration(), "StopIteration. Mend"),
        (MemoryError(), "MemoryError. Mend"),
        (SystemExit(3), "SystemExit: 3. Mend"),
    ],
)
def test_whatever_a_strategy_raises_is_said_with_its_name_and_the_decision(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
):
    fails_at_the_third = iter([iter(()), iter(())])
    use(monkeypatch, parts=lambda self, change, credits: next(fails_at_the_third, None) or raising(error)())
    its = shaper()
    its.score(BEFORE, AFTER)
    its.score(BEFORE, AFTER)
    found = refusal(lambda: its.score(BEFORE, AFTER))
    assert str(found).startswith('The strategy "own" at decision 2 failed: ')
    assert said in str(found)
    assert found.__cause__ is error
    str(found).encode("utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "TypeError: 'NoneType' object is not iterable"),
        (7, "TypeError: 'int' object is not iterable"),
        ("parts", "yields 'p'; let its `components` yield RewardComponents."),
        ([None], "yields None; let"),
        ([{"kind": "own"}], "yields {'kind': 'own'}; let"),
        (repeat(part()), "yields more than 20,000 components; let its `components` end."),
        ([part(value=1e50), part(value=-1e50)], "pays more than 1e+50 in all"),
    ],
)
def test_what_are_no_components_is_said(monkeypatch: pytest.MonkeyPatch, given: Any, said: str):
    use(monkeypatch, parts=lambda self, change, credits: given)
    assert said in str(refusal(lambda: shaper().score(BEFORE, AFTER)))


@pytest.mark.parametrize("field", ["delta", "weight", "value"])
@pytest.mark.parametrize(
    "number", [math.nan, math.inf, -math.inf, 1e51, 10**400, [10**5000], "1", None, True, 1j, np.float64("nan")]
)
def test_a_component_s_numbers_are_finite(monkeypatch: pytest.MonkeyPatch, field: str, number: Any):
    use(monkeypatch, parts=yielding(part(), part(**{field: number})))
    said = str(refusal(lambda: shaper().score(BEFORE, AFTER)))
    assert said.startswith(f'The strategy "own" at decision 0 yields a component whose {field} is ')


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": None},
        {"name": 3},
        {"name": "a\0b"},
        {"kind": "\ud800"},
        {"count_prior": 1.5},
        {"count_limit": "many"},
    ],
)
def test_a_component_s_other_fields_are_of_their_kind(monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]):
    use(monkeypatch, parts=yielding(part(**fields)))
    assert f"a component whose {next(iter(fields))} is " in str(refusal(lambda: shaper().score(BEFORE, AFTER)))


def test_numbers_of_numpy_become_plain_ones_and_any_name_may_be_given(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, parts=yielding(part(name="grüner Tee", delta=np.int64(2), value=np.float32(0.5), weight=3)))
    (found,) = shaper().score(BEFORE, AFTER).components
    assert found == part(name="grüner Tee", delta=2.0, value=0.5, weight=3)
    assert {type(found.delta), type(found.value)} == {float}


def test_a_strategy_that_cannot_be_made_is_said(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, __init__=raising(OSError("no table")))
    assert "cannot be made: OSError: no table." in str(refusal(shaper))


def test_what_is_no_error_of_the_strategy_goes_through(monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object) -> Any:
        raise KeyboardInterrupt

    use(monkeypatch, parts=stop)
    with pytest.raises(KeyboardInterrupt):
        shaper().score(BEFORE, AFTER)


# ----------------------------------------------------------------------------------- what strategies look at


@pytest.mark.parametrize("state", ["before", "after"])
@pytest.mark.parametrize("table", ["achievements", "inventory", "achievement_counts"])
def test_a_strategy_cannot_change_the_trace(monkeypatch: pytest.MonkeyPatch, state: str, table: str):
    def meddle(self: Any, change: Change, credits: Mapping[str, int]) -> Any:
        getattr(getattr(change, state), table)["wood"] = 99
        yield part()

    use(monkeypatch, parts=meddle)
    states = deepcopy((BEFORE, AFTER))
    refusal(lambda: shaper().score(*states))
    assert states == (BEFORE, AFTER)
    columns = columns_of()
    refusal(lambda: breakdowns(columns, 0, RewardConfig("own")))
    assert next(iter(columns.changes(0))).before == BEFORE


def test_a_strategy_may_change_its_own_configuration_and_no_other(monkeypatch: pytest.MonkeyPatch):
    def meddle(self: Any, change: Change, credits: Mapping[str, int]) -> Any:
        self.config.weights.clear()
        yield part()

    use(monkeypatch, parts=meddle)
    config = RewardConfig("own", weights={"wake_up": 2.0})
    its = RewardShaper(config)
    its.score(BEFORE, AFTER)
    assert its.config.weights == config.weights == {"wake_up": 2.0}


# ---------------------------------------------------------------------------------------- all decisions at once


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (raising(ZeroDivisionError("division")), "failed at scoring all 3 decisions at once: ZeroDivisionError"),
        (lambda self, c: np.zeros(1), "gives float64 of shape (1,) for 3 decisions"),
        (lambda self, c: np.zeros((3, 1)), "gives float64 of shape (3, 1) for 3 decisions"),
        (lambda self, c: np.ones(3, np.int64), "gives int64 of shape (3,) for 3 decisions"),
        (lambda self, c: np.ones(3, object), "gives object of shape (3,)"),
        (lambda self, c: [1.0] * 3, "gives [1.0, 1.0, 1.0] for 3 decisions"),
        (lambda self, c: np.float64(3.0), "for 3 decisions; let its `values` return float64 of shape (3,)."),
        (lambda self, c: "x" * 10**6, "for 3 decisions"),
        (lambda self, c: np.array([0.0, math.nan, 1.0]), "gives nan for decision 1 of 3"),
        (lambda self, c: np.array([0.0, 0.0, -math.inf]), "gives -inf for decision 2 of 3"),
        (lambda self, c: np.full(3, 1e51), "gives 1e+51 for decision 0 of 3"),
        (lambda self, c: np.ones(3) / np.zeros(3), "gives inf for decision 0 of 3"),
    ],
)
def test_what_is_no_column_of_rewards_is_said(monkeypatch: pytest.MonkeyPatch, column: Any, said: str):
    use(monkeypatch, column=column)
    assert said in str(refusal(lambda: score(columns_of(), RewardConfig("own"))))


def test_the_largest_column_has_a_finite_return_at_the_largest_lambda(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, column=lambda self, c: np.full(c.n_decisions, 1e50))
    scores = score(columns_of(), RewardConfig("own", indicator_lambda=1e9))
    assert scores.returns.tolist() == pytest.approx([3e59, 0.0])


def test_a_stored_reward_that_is_no_number_is_refused_too():
    writer = FactsWriter()
    writer.add(BEFORE, AFTER, [], env_reward=math.nan)
    with pytest.raises(InvalidReward, match='"environment" gives nan for decision 0 of 1; .* or the stored rewards'):
        score(FactColumns([writer.facts()]), RewardConfig("environment"))


@pytest.mark.parametrize(
    "meddle",
    [
        lambda c: c.env_rewards.__iadd__(1),
        lambda c: c.logged.fill(0),
        lambda c: c.starts.fill(0),
        lambda c: c.step_ends.sort(),
        lambda c: c.is_end.fill(True),
        lambda c: c.unlocks.fill(9),
        lambda c: c.weighed(lambda feature: 1.0).fill(9),
        lambda c: c.levels(1, "wood")[0].fill(9),
        lambda c: c.levels(0, "wake_up")[1].fill(9),
        lambda c: c.levels(0, "never_heard_of")[1].fill(9),
        lambda c: c.achieved()[0].fill(9),
        lambda c: c.sums(np.ones(3)).fill(9),
        lambda c: c.episodes[0].env_rewards.fill(9),
        lambda c: c.episodes[0].deltas.fill(9),
    ],
)
def test_a_strategy_cannot_change_the_columns(monkeypatch: pytest.MonkeyPatch, meddle: Callable[[FactColumns], object]):
    use(monkeypatch, column=lambda self, c: meddle(c) and np.zeros(3))
    columns = columns_of()
    assert "read-only" in str(refusal(lambda: score(columns, RewardConfig("own"))))
    assert columns.env_rewards.tolist() == [1.0] * 3


def test_states_of_columns_are_copies():
    columns = columns_of()
    next(iter(columns.changes(0))).before.inventory["wood"] = 99
    assert next(iter(columns.changes(0))).before == BEFORE
