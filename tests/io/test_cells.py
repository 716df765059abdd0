"""Text in the cells of a table: never a formula, and always to be had back."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.io import from_cell, to_cell

SIGNS = "=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20"

# Mostly text that begins as formulas do, or nearly so.
TEXT = st.builds(
    "{}{}".format, st.text(f"{SIGNS}' \u3000ab", max_size=6), st.text(max_size=6)
)


@given(TEXT)
def test_a_cell_is_no_formula_and_its_text_comes_back(text):
    cell = to_cell(text)
    assert not cell.startswith(tuple(SIGNS))
    assert not cell.strip().startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
    assert from_cell(cell) == text


PAGE = Path(__file__).resolve().parents[2] / "docs/command-line.md"
[PATTERN] = re.findall(r'str\.replace\(r"(.*)", "", regex', PAGE.read_text("utf-8"))


@given(TEXT)
def test_the_line_of_the_docs_does_the_same(text):
    assert re.sub(PATTERN, "", to_cell(text)) == text


@given(TEXT, TEXT)
def test_different_texts_have_different_cells(first, second):
    assert (to_cell(first) == to_cell(second)) == (first == second)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://a.b","c").png', '\'=HYPERLINK("http://a.b","c").png'),
        ("+1", "'+1"),
        ("-5.png", "'-5.png"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("  =1", "'  =1"),
        ("\uff1d1", "'\uff1d1"),
        ("'=1", "''=1"),
        ("''-1", "'''-1"),
    ],
)
def test_an_apostrophe_is_put_before_formulas(text, cell):
    assert to_cell(text) == cell
    assert from_cell(cell) == text


@pytest.mark.parametrize(
    "text",
    ["", "a.png", "photos/=1.png", "a=b", "'", "'a'", "''", " a", "1-2", "#"],
)
def test_all_other_text_stays_as_it_is(text):
    assert to_cell(text) == from_cell(text) == text
