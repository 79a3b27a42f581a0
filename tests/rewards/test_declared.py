"""A strategy that does not say of itself what it has to is refused when it is added, with a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.errors import InvalidReward
from core.params import Number, choice, integer, number, text
from core.rewards import STRATEGIES
from core.rewards.base import Change, NoParams, Strategy
from core.rewards.registry import Strategies
from core.types import RewardComponent


class Tea(Strategy[Any]):
    """Pays nothing."""

    name = "tea"
    version = 1
    label = "Tea"
    description = "Pays nothing."

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        yield from ()


def tea_with(**attributes: Any) -> type[Strategy[Any]]:
    return type("Brewed", (Tea,), {"__module__": __name__, **attributes})


def refusal(strategy: Any, name: str = "tea") -> str:
    there = Strategies(STRATEGIES)
    with pytest.raises(InvalidReward) as caught:
        there[name] = strategy
    assert list(there) == list(STRATEGIES)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def test_one_that_says_all_of_it_is_added():
    there = Strategies(STRATEGIES)
    there["tea"] = tea_with(aliases=("chai",))
    there["tea"] = tea_with(aliases=("chai",))  # its own names are not another's
    there.update(green=tea_with(name="green"))
    assert {"tea", "green"} < set(there)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"name": "Tea"}, "has the name 'Tea'; give text in lower case"),
        ({"name": " tea"}, "without outer spaces"),
        ({"name": ""}, "has the name ''; give a text that is not empty"),
        ({"name": "t" * 10**6}, "of at most 100 characters"),
        ({"name": 7}, "has the name 7; give a text"),
        ({"aliases": ("Chai",)}, "has the name 'Chai'; give text in lower case"),
        ({"aliases": (3,)}, "has the name 3; give text"),
        ({"aliases": "chai"}, "has the aliases 'chai'; give a tuple of names"),
        ({"aliases": ("chai", "chai")}, 'has the name "chai", which means Brewed; choose another'),
        ({"aliases": ("tea",)}, 'has the name "tea", which means Brewed; choose another'),
        ({"aliases": ("simple",)}, 'has the name "simple", which means Consistent; choose another'),
        ({"aliases": ("per_achievement",)}, 'has the name "per_achievement", which means PerAchievement'),
        ({"label": None}, "has the label None"),
        ({"description": " "}, "has the description ' '"),
        ({"version": 0}, "has the version 0; give a whole number from 1 on"),
        ({"version": -1}, "has the version -1"),
        ({"version": "2"}, "has the version '2'"),
        ({"version": 2.0}, "has the version 2.0"),
        ({"version": True}, "has the version True"),
        ({"version": None}, "has the version None"),
    ],
)
def test_what_it_says_wrongly_is_named_with_its_class(attributes: dict[str, Any], says: str):
    sentence = refusal(tea_with(**attributes), attributes.get("name", "tea"))
    assert sentence.startswith(f"The reward strategy {__name__}.Brewed ")
    assert says in sentence


@dataclass(frozen=True)
class _Plain:
    cups: int = 3


@dataclass(frozen=True)
class _OutsideItsBounds:
    heat: float = field(default=50.0, metadata={"label": "", "description": "", "kind": Number(0, 1)})


@dataclass(frozen=True)
class _WithoutDefault:
    heat: float = field(metadata={"label": "", "description": "", "kind": Number(0, 1)})


@dataclass(frozen=True)
class _WithoutBounds:
    heat: float = number(0.0, label="", description="", low=float("-inf"), high=float("inf"))


@dataclass(frozen=True)
class _TooLarge:
    cups: int = integer(0, label="", description="", low=0, high=10**5000)


@dataclass(frozen=True)
class _Version:
    strategy_version: int = integer(3, label="", description="", low=0, high=9)


@dataclass(frozen=True)
class _Capital:
    Cups: int = integer(3, label="", description="", low=0, high=9)


@dataclass(frozen=True)
class _TwoSpellings:
    leaf: str = choice("Green", label="", description="", names=["Green", "green"])


@dataclass(frozen=True)
class _EmptyChoice:
    leaf: str = choice("", label="", description="", names=["", "green"])


@dataclass(frozen=True)
class _Novel:
    note: str = text("", label="", description="", most=10**9)


@dataclass(frozen=True)
class _NotGiven:
    cups: int = field(default=3, init=False)


@dataclass
class _Changeable:
    cups: int = integer(3, label="", description="", low=0, high=9)


class _NoRecord:
    pass


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (_Plain, 'The field "cups" does not say what it takes; make it with integer, number, text or choice'),
        (_OutsideItsBounds, 'The parameter "heat" has the default 50.0; it must be a number from 0 to 1.'),
        (_WithoutDefault, 'The parameter "heat" has no default; it must be a number from 0 to 1.'),
        (_WithoutBounds, 'The parameter "heat" has bounds or names by which nothing can be read; give finite'),
        (_TooLarge, "by which nothing can be read"),
        (_Version, 'The name "strategy_version" is kept for the strategy\'s version; choose another.'),
        (_Capital, 'The name "Cups" is not in lower case'),
        (_TwoSpellings, "has bounds or names by which nothing can be read"),
        (_EmptyChoice, "by which nothing can be read"),
        (_Novel, "has text parameters of 1,000,000,000 characters in all; let them be at most 100,000."),
        (_NotGiven, "cannot be given (init=False)"),
        (_Changeable, "give a frozen dataclass"),
        (_NoRecord, "give a frozen dataclass"),
        (None, "has the params_type None; give a frozen dataclass"),
        (NoParams(), "give a frozen dataclass"),
    ],
)
def test_parameters_that_could_not_be_given_are_found_before_anybody_tries(params: Any, says: str):
    sentence = refusal(tea_with(params_type=params))
    assert sentence.startswith(f"The reward strategy {__name__}.Brewed ")
    assert says in sentence


def test_what_is_no_strategy_is_said():
    assert "is no reward strategy; give a class that extends Strategy" in refusal(dict)
    assert "is no reward strategy; give a class that extends Strategy" in refusal("tea")

    class Unwritten(Strategy[NoParams]):
        name, version, label, description = "tea", 1, "Tea", "Pays nothing."

    assert "Unwritten lacks components; write it." in refusal(Unwritten)


def test_it_is_added_by_its_name():
    assert "is added as 'coffee' and its name is \"tea\"; add it by its name." in refusal(Tea, "coffee")
