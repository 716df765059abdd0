"""The paper's tables as data, against cells typed from the paper."""

import math

import pytest

from twofold.paper import paper_tables
from twofold.paper.data import DATA, PAPER_DATA
from twofold.paper.methods import PAPER_METHODS
from twofold.paper.published import paper_average, paper_rows


@pytest.mark.parametrize(
    ("cell", "mean", "std"),
    [
        (("eyaleb", "accuracy", 5, "TS-NMF"), 77.27, 11.23),
        (("eyaleb", "nmi", 38, "RMNMF"), 28.46, None),
        (("orl", "accuracy", 40, "TS-NMF"), 68.00, None),
        (("pix", "accuracy", 8, "RPCA"), None, 7.14),
        (("yale", "accuracy", 15, "K-Means"), 39.39, None),
    ],
)
def test_cells(cell, mean, std):
    found = paper_tables()[cell]
    assert mean is None or found.mean == mean
    assert found.std == std


def test_every_method_and_data_set_of_the_protocol_has_cells_unless_left_blank():
    titles = {method.title for method in PAPER_METHODS.values()}
    found = {(data, title) for data, _, _, title in paper_tables()}
    blank = {(data, "SC") for data in ("eyaleb", "semeion", "orl-40", "orl-60")}
    assert found == {(data, t) for data in PAPER_DATA for t in titles} - blank


def test_the_rows_are_the_papers():
    assert paper_rows("eyaleb") == (5, 10, 15, 20, 25, 30, 35, 38)
    assert paper_rows("yale") == (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15)
    assert DATA["orl-60"].rows == tuple(range(2, 21, 2))


def test_averages_are_those_printed():
    assert paper_average("orl", "accuracy", "TS-NMF") == 71.21
    assert paper_average("eyaleb", "accuracy", "SC") is None
    # This one is not the mean of its column in the paper.
    column = [
        paper_tables()["orl-40", "accuracy", n, "RPCA"].mean for n in range(2, 21, 2)
    ]
    assert paper_average("orl-40", "accuracy", "RPCA") == 35.57
    assert not math.isclose(sum(column) / 10, 35.57, abs_tol=1)
