"""Parameters declare their bounds; an invalid value is rejected with what is allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidConfig
from core.params import Integer, Number, choice, integer, number, read_params, text


@dataclass(frozen=True)
class Brewing:
    cups: int = integer(2, label="Cups", description="How many.", low=1, high=9)
    heat: float = number(0.5, label="Heat", description="How hot.", low=-1.0, high=1.0)
    leaf: str = choice("green", label="Leaf", description="Which.", names=["green", "Black"])
    note: str = text("", label="Note", description="Whatever.", max_length=5)


def error_message(given: object) -> str:
    with pytest.raises(InvalidConfig) as caught:
        read_params(Brewing, given, 'policy "tea"')
    return str(caught.value)


def test_missing_parameters_have_defaults():
    assert read_params(Brewing, {"cups": np.int64(3)}, 'policy "tea"') == Brewing(cups=3)


def test_names_ignore_case_and_whole_floats_become_integers():
    assert read_params(Brewing, {"Cups ": 2.0, "leaf": "BLACK"}, 'policy "tea"') == Brewing(cups=2, leaf="Black")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cups": 2.5}, 'The parameter "cups" of the policy "tea" is 2.5; give a whole number from 1 to 9.'),
        ({"cups": True}, "is True; give a whole number from 1 to 9."),
        ({"heat": 10**400}, "give a number from -1 to 1."),
        ({"heat": math.nan}, "is nan; give a number from -1 to 1."),
        ({"leaf": "red"}, "give one of green, Black."),
        ({"note": "longer"}, "give text of at most 5 characters."),
        ({"note": [[[[[["x" * 30] * 6] * 6] * 6] * 6] * 6]}, "give text of at most 5 characters."),
        ({"cup": 1}, 'The policy "tea" has no parameter "cup"; did you mean "cups"? It has: cups, heat, leaf, note.'),
        ({"k" * 10**6: 1}, "give text of 1 to 100 printable characters."),
        ({7: 1}, 'A name in params of the policy "tea" is 7; give text'),
        ("cups", "params of the policy \"tea\" is 'cups'; give a table"),
    ],
)
def test_an_invalid_parameter_is_reported_briefly(given: object, expected: str):
    message = error_message(given)
    assert expected in message
    assert len(message) < 400


def test_negative_zero_becomes_zero():
    assert math.copysign(1, Number(-1, 1).read(-0.0) or 0.0) == 1
    assert str(Number(-1, 1).read(-0.0)) == str(Number(-1, 1).read(0)) == "0.0"
    assert Integer(0, 9).read(True) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: integer(10, label="Cups", description="", low=0, high=9),
        lambda: number(50.0, label="Heat", description="", low=0, high=1),
        lambda: number(0.5, label="Heat", description="", low=1, high=0),
        lambda: choice("red", label="Leaf", description="", names=["green"]),
        lambda: text("longer", label="Note", description="", max_length=5),
    ],
)
def test_an_invalid_default_is_rejected_where_it_is_declared(wrong: Any):
    with pytest.raises(InvalidConfig, match='^The default of the parameter ".*" is .*; give '):
        wrong()
