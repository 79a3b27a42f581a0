"""Text from elsewhere is shown as text, and never more of it than a page can bear."""

from __future__ import annotations

from pages.components.plain import MOST_IN_A_LINE, plain, short, shown, shown_data


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


def test_what_would_be_acted_on_is_seen_instead():
    text = "\x1b[2J\x9b31m \x07\x08 a\rb \x7f \u202ex\u2066"
    seen = r"\x1b[2J\x9b31m \x07\x08 a\rb \x7f \u202ex\u2066"
    assert shown(text) == seen
    assert short(text, 100) == seen
    assert plain(text).replace("\\\\", "\\").replace("\\[", "[") == seen
    assert shown_data({f"a{text}": [text, {"b": (text, 1, None)}]}) == {f"a{seen}": [seen, {"b": [seen, 1, None]}]}


def test_lines_and_tabs_stay_what_they_are():
    assert shown("a\r\nb\n\tc") == "a\nb\n\tc"


def test_escapes_do_not_make_a_text_longer_than_a_page_can_bear():
    assert shown("\x1b" * 100, 10) == r"\x1b\x1b\x" + "… (cut here; 100 characters in all)"
    assert shown("\x1b" * 10, 20).startswith(r"\x1b" * 5 + "… (cut here; 10")


def test_a_label_is_one_short_line():
    assert short("two\nlines", 20) == "two lines"
    assert short("x" * 10**6, 10) == "x" * 9 + "…"
    assert short("NUL\0 and \ud83d", 20) == "NUL\ufffd and ?"
