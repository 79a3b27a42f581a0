"""Parameters of every kind come through everything that reads a configuration, as what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.analysis.rescore import breakdowns, score
from core.errors import InvalidReward
from core.facts import FactsWriter
from core.facts.columns import FactColumns
from core.params import choice, integer, number, text
from core.rewards import (
    STRATEGIES,
    RewardComponent,
    RewardConfig,
    RewardShaper,
    StateFacts,
    checked,
    from_document,
    to_changes,
    to_document,
)
from core.rewards.base import Change, Strategy


@dataclass(frozen=True)
class BrewParams:
    """One of every kind."""

    cups: int = integer(3, label="Cups", description="How many.", low=-9, high=9)
    heat: float = number(1, label="Heat", description="How hot, as a whole number by default.", low=-2.0, high=1e12)
    note: str = text("As you like", label="Note", description="Whatever.", most=200)
    leaf: str = choice("Green", label="Leaf", description="Which.", names=["Green", "black"])

    def __post_init__(self) -> None:
        if self.cups == 0 and self.heat:
            raise ValueError("nothing to heat")


class Brew(Strategy[BrewParams]):
    """Pays cups x heat."""

    name = "brew"
    version = 2
    label = "Brew"
    description = "Pays cups times heat."
    params_type = BrewParams

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        its = self.params
        assert type(its.cups) is int and type(its.heat) is float
        assert its.leaf in ("Green", "black")
        yield RewardComponent("brew", its.leaf, its.cups, its.heat, its.cups * its.heat)

    def values(self, columns: FactColumns) -> NDArray[np.float64]:
        return np.full(columns.n_decisions, self.params.cups * self.params.heat)


@pytest.fixture(autouse=True)
def brew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, "brew", Brew)


def columns() -> FactColumns:
    writer = FactsWriter()
    writer.add(StateFacts(), StateFacts(), [])
    return FactColumns([writer.facts()])


GIVEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"cups": 4}, {"cups": 4}),
    ({"cups": 4.0}, {"cups": 4}),
    ({"cups": np.int64(-9), "heat": np.float32(0.5)}, {"cups": -9, "heat": 0.5}),
    ({"heat": 1e12}, {"heat": 1e12}),
    ({"heat": -0.0, "cups": 0}, {"heat": 0.0, "cups": 0}),
    ({"note": "Ünï Ça \n\t"}, {"note": "Ünï Ça \n\t"}),
    ({"note": ""}, {"note": ""}),
    ({"note": "n" * 200}, {"note": "n" * 200}),
    ({"leaf": " green "}, {"leaf": "Green"}),
    ({"LEAF": "BLACK"}, {"leaf": "black"}),
    ({"strategy_version": 1, "cups": 1}, {"cups": 1}),
]


@pytest.mark.parametrize(("given", "kept"), GIVEN)
def test_they_come_through_everything_that_reads_them(given: dict[str, Any], kept: dict[str, Any]):
    config = checked(RewardConfig("brew", params=given))
    expected = {"cups": 3, "heat": 1.0, "note": "As you like", "leaf": "Green"} | kept
    assert config.params == expected | {"strategy_version": 2}
    assert [type(config.params[name]) for name in expected] == [int, float, str, str]
    again = checked(config)
    assert (again, again.config_hash) == (config, config.config_hash)
    for written in (to_document(config), to_changes(config)):
        back = from_document(written)
        assert (back, back.config_hash) == (config, config.config_hash)
    paid = expected["cups"] * expected["heat"]
    assert RewardShaper(config).score(StateFacts(), StateFacts()).total == paid
    assert score(columns(), config).rewards.tolist() == [paid]
    assert breakdowns(columns(), 0, config)[0].total == paid


def test_a_default_means_the_same_as_its_value():
    spelled = {"cups": 3.0, "heat": 1, "note": "As you like", "leaf": "green"}
    assert checked(RewardConfig("brew")).config_hash == checked(RewardConfig("brew", params=spelled)).config_hash


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cups": 4.5}, 'params["cups"] is 4.5; give a whole number from -9 to 9.'),
        ({"cups": 10}, 'params["cups"] is 10; give a whole number from -9 to 9.'),
        ({"cups": True}, 'params["cups"] is True; give a whole number from -9 to 9.'),
        ({"cups": "3"}, "params[\"cups\"] is '3'; give a whole number from -9 to 9."),
        ({"cups": None}, 'params["cups"] is None; give a whole number from -9 to 9.'),
        ({"cups": float("inf")}, 'params["cups"] is inf; give a whole number from -9 to 9.'),
        ({"heat": True}, 'params["heat"] is True; give a number, such as 0.5.'),
        ({"heat": -3}, 'params["heat"] is -3; give a number from -2 to 1e+12.'),
        ({"heat": float("nan")}, 'params["heat"] is nan; give a number from -2 to 1e+12.'),
        ({"note": 3}, 'params["note"] is 3; give text of at most 200 characters.'),
        ({"note": "\ud800"}, "params[\"note\"] is '\\ud800', which holds half a character (a lone surrogate); leave"),
        ({"leaf": "grean"}, 'params["leaf"] is \'grean\'; did you mean "green"? Choose one of: Green, black.'),
        ({"leaf": 3}, 'params["leaf"] is 3; give a text that is not empty.'),
        (
            {"cup": 3},
            'The strategy "brew" has no parameter "cup"; did you mean "cups"? It has: cups, heat, note, leaf.',
        ),
        ({"cups": 0}, 'The strategy "brew" does not take these parameters: ValueError: nothing to heat. Give others.'),
    ],
)
def test_what_they_do_not_take_is_said(given: dict[str, Any], sentence: str):
    for use in (checked, RewardShaper, to_document):
        with pytest.raises(InvalidReward) as caught:
            use(RewardConfig("brew", params=given))
        assert str(caught.value).startswith(sentence)
