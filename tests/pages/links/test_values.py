"""Numbers in a URL: only plain ones are read."""

from __future__ import annotations

import pytest

from pages.components.links.values import parse_number, parse_whole


@pytest.mark.parametrize("text", ["٣", "1_0", " 5", "5.0", "1e3", "9" * 30, ""])
def test_unusual_whole_numbers_are_refused(text: str):
    with pytest.raises(ValueError, match="not a whole number"):
        parse_whole(text)


@pytest.mark.parametrize("text", ["٣", "1_0", "nan", "inf", "1e400", "x", ""])
def test_unusual_numbers_are_refused(text: str):
    with pytest.raises(ValueError, match="not a number"):
        parse_number(text)


def test_plain_numbers_are_read():
    assert [parse_whole("-12"), parse_number("-1.5e3")] == [-12, -1500.0]
