"""Text from elsewhere is shown as plain text, cut to what a page can show."""

from __future__ import annotations

from pages.components.text.escape import MAX_LINE_LENGTH, escape, one_line, safe_data, safe_text


def test_markdown_is_escaped():
    assert escape("![x](http://example.org/x.png)") == "\\!\\[x\\]\\(http\\:\u2060//example\\.org/x\\.png\\)"


def test_a_url_or_an_email_address_does_not_become_a_link():
    assert escape("HTTPS://a WWW.b me@c") == "HTTPS\\:\u2060//a WWW\u2060\\.b me@\u2060c"


def test_a_lone_surrogate_does_not_reach_the_browser():
    for text in (escape("\ud83d"), safe_text("\ud83d")):
        assert text.encode("utf-8")


def test_long_text_is_cut_with_its_full_length():
    assert safe_text("x" * 30, 10) == "x" * 10 + "… (cut here; 30 characters in all)"
    assert len(escape("x" * 10**6)) < 2 * MAX_LINE_LENGTH


def test_short_text_is_unchanged():
    assert safe_text("Wood 1 of 2 🙂") == "Wood 1 of 2 🙂"


def test_control_characters_become_visible():
    text = "\x1b[2J\x9b31m \x07\x08 a\rb \x7f \u202ex\u2066"
    seen = r"\x1b[2J\x9b31m \x07\x08 a\rb \x7f \u202ex\u2066"
    assert safe_text(text) == seen
    assert one_line(text, 100) == seen
    assert escape(text).replace("\\\\", "\\").replace("\\[", "[") == seen
    assert safe_data({f"a{text}": [text, {"b": (text, 1, None)}]}) == {f"a{seen}": [seen, {"b": [seen, 1, None]}]}


def test_lines_and_tabs_stay():
    assert safe_text("a\r\nb\n\tc") == "a\nb\n\tc"


def test_escapes_count_towards_the_length():
    assert safe_text("\x1b" * 100, 10) == r"\x1b\x1b\x" + "… (cut here; 100 characters in all)"
    assert safe_text("\x1b" * 10, 20).startswith(r"\x1b" * 5 + "… (cut here; 10")


def test_a_label_is_one_short_line():
    assert one_line("two\nlines", 20) == "two lines"
    assert one_line("x" * 10**6, 10) == "x" * 9 + "…"
    assert one_line("NUL\0 and \ud83d", 20) == "NUL\ufffd and ?"
