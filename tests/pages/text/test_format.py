"""Numbers as people read them: as many digits as say something, an exponent where that takes many, one minus sign."""

from __future__ import annotations

import math

import pytest

from pages.components.text.format import amount, exact, ms, number, seconds, seeds_label, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.18, "+1.18"),
        (-0.1, "−0.10"),
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (-3e-12, "0.00"),  # the rounding of sums
        (0.005, "+0.01"),
        (0.004, "+0.004"),
        (-0.00123, "−0.0012"),
        (0.0009996, "+0.001"),
        (-3.1e-7, "−3.1×10⁻⁷"),
        (1234567.891, "+1,234,567.89"),
        (1.2345678e9, "+1.235×10⁹"),
        (-1e100, "−1×10¹⁰⁰"),
    ],
)
def test_signed_numbers(value: float, text: str):
    assert signed(value) == text
    assert amount(value) == text.removeprefix("+")


def test_digits_can_be_chosen():
    assert signed(-3, 0) == "−3"
    assert signed(0, 0) == "0"
    assert signed(0.05, 3) == "+0.050"
    assert number(-12345.6) == "−12,346"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.06, "0.06"), (-1.0, "−1"), (0.12345678, "0.12345678"), (1e-7, "1×10⁻⁷"), (-2.5e101, "−2.5×10¹⁰¹"), (3, "3")],
)
def test_exact_numbers_parse_back(value: float, text: str):
    assert exact(value) == text


def test_values_that_are_not_finite():
    assert [signed(value) for value in (math.nan, math.inf, -math.inf)] == ["not a number", "+∞", "−∞"]
    assert [seconds(math.inf), seconds(math.nan), ms(math.inf)] == ["n/a"] * 3
    assert [number(-0.0), number(-0.004, 2), number(-1.5, 1)] == ["0", "0.00", "−1.5"]


@pytest.mark.parametrize(
    ("seeds", "text"),
    [((7,), "seed 7"), ((0, 1), "seeds 0, 1"), ((0, 1, 2, 42), "seeds 0-2, 42"), ((5, 3, 4, 6), "seeds 5, 3, 4, 6")],
)
def test_consecutive_seeds_are_written_as_a_range(seeds: tuple[int, ...], text: str):
    assert seeds_label(seeds) == text
