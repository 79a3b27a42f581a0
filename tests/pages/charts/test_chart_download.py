"""Downloads of charts: file names, and tables that a spreadsheet does not execute."""

from __future__ import annotations

import csv
import io

import pytest

from pages.components.charts.download import Cell, Download, as_csv, file_name


def read_back(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_a_table_comes_back_as_it_was():
    table: list[list[Cell]] = [["decision", "value"], [0, -0.5], [1, None], [2, 'wood, "two"\nlines']]
    assert read_back(as_csv(table)) == [["decision", "value"], ["0", "-0.5"], ["1", ""], ["2", 'wood, "two"\nlines']]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "|calc", "%0A", "＝1", "＠x"])
def test_text_that_a_spreadsheet_would_take_for_a_formula_becomes_text(text: str):
    ((cell,),) = read_back(as_csv([[text]]))
    assert cell.startswith("'")
    assert cell.removeprefix("'").strip() == text.strip()


@pytest.mark.parametrize("text", ["wood", "collect_wood", "a=b", "", "λ", "1 - 2"])
def test_other_text_stays(text: str):
    assert as_csv([["x", text]]).decode("utf-8-sig").strip("\r\n") == f"x,{text}"


def test_invisible_characters_are_escaped_and_long_texts_cut():
    ((turned, control, long, number),) = read_back(as_csv([["a\u202etxt.exe", "\r=1", "x" * 5_000, -0.5]]))
    assert turned == "a\\u202etxt.exe"
    assert control == "'\\r=1"
    assert long.startswith("x" * 300) and long.endswith("(cut here; 5,000 characters in all)")
    assert number == "-0.5"
    assert b"?" in as_csv([["\ud83d"]])  # a lone surrogate


def test_file_names_have_only_characters_that_every_system_accepts():
    assert file_name("episode", "1a2b3c4d", "heat map") == "episode_1a2b3c4d_heat-map"
    assert file_name("episode", "../../etc/passwd", "x" * 500) == "episode_etc-passwd_" + "x" * 40
    assert file_name("\x00", "…") == "chart"


def test_the_picture_is_named_like_the_data():
    config = Download("episode_1_returns", lambda: [["a"]]).config
    assert config["toImageButtonOptions"]["filename"] == "episode_1_returns"
    assert config["modeBarButtons"] == [["toImage"]]
