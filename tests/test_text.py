"""Text is cut, joined, quoted and escaped for people and for the store."""

from __future__ import annotations

from typing import Any

import pytest

from core.text import cut, join, plural, quoted, storable, visible


def test_cut_text_ends_in_dots():
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
def test_invisible_characters_are_escaped(text: str, shown: str):
    assert visible(text) == shown


def test_a_lone_surrogate_becomes_a_question_mark():
    assert storable("a\ud800b🙂") == "a?b🙂"


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "value", ["x" * 10_000, 10**6_000, _nested(5_000), {i: "x" * 99 for i in range(99)}], ids=range(4)
)
def test_any_value_is_quoted_briefly(value: object):
    assert 0 < len(quoted(value)) <= 120


def test_a_short_value_is_quoted_in_full():
    assert [quoted("a"), quoted(1.5), quoted([1, 2])] == ["'a'", "1.5", "[1, 2]"]


def test_plural_agrees_with_the_count():
    assert [plural(n, "loop") for n in (0, 1, 2_000)] == ["0 loops", "1 loop", "2,000 loops"]
    assert [plural(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_parts_are_joined_with_commas_and_a_word():
    assert [join(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert join(["a", "b"], "or") == "a or b"
