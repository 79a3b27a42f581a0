"""Text from elsewhere is shown as text, and never more of it than a page can bear."""

from __future__ import annotations

from pages.components.plain import MOST_IN_A_LINE, plain, short, shown


def test_markdown_is_escaped():
    assert plain("![x](http://example.org/x.png)") == r"\!\[x\]\(http\:\/\/example\.org\/x\.png\)".replace(r"\/", "/")


def test_a_lone_surrogate_does_not_reach_the_browser():
    for text in (plain("\ud83d"), shown("\ud83d")):
        assert text.encode("utf-8")


def test_long_text_is_cut_and_its_true_length_said():
    assert shown("x" * 30, 10) == "x" * 10 + "… (cut here; 30 characters in all)"
    assert len(plain("x" * 10**6)) < 2 * MOST_IN_A_LINE


def test_short_text_is_left_alone():
    assert shown("Wood 1 of 2 🙂") == "Wood 1 of 2 🙂"


def test_a_label_is_one_short_line():
    assert short("two\nlines", 20) == "two lines"
    assert short("x" * 10**6, 10) == "x" * 9 + "…"
    assert short("NUL\0 and \ud83d", 20) == "NUL\ufffd and ?"
