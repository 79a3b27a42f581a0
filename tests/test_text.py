"""`core.text`: helpers for text that people read."""

from __future__ import annotations

from typing import Any

import pytest

from core.text import cut, join, plural, quoted, storable, visible


def test_cut_text_ends_in_dots_and_keeps_to_its_length():
    assert cut("short", 5) == "short"
    assert cut("too long", 6) == "too..."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 日本 🙂", "Grüße, 日本 🙂"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("half \ud800", "half \\ud800"),
        ("nul \0", "nul \\x00"),
    ],
)
def test_characters_that_act_or_vanish_are_escaped(text: str, shown: str):
    assert visible(text) == shown


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert storable("a\ud800b🙂") == "a?b🙂"


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "value", ["x" * 10_000, 10**6_000, _nested(5_000), {i: "x" * 99 for i in range(99)}], ids=range(4)
)
def test_anything_can_be_quoted_briefly(value: object):
    assert 0 < len(quoted(value)) <= 120


def test_a_short_value_is_quoted_whole():
    assert [quoted("a"), quoted(1.5), quoted([1, 2])] == ["'a'", "1.5", "[1, 2]"]


def test_counts_are_followed_by_the_noun_in_the_right_number():
    assert [plural(n, "loop") for n in (0, 1, 2_000)] == ["0 loops", "1 loop", "2,000 loops"]
    assert [plural(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_parts_are_joined_as_a_sentence_lists_them():
    assert [join(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert join(["a", "b"], "or") == "a or b"
