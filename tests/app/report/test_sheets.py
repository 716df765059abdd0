"""Sheets, cut into thumbnails again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from twofold.app.report import sheets as sheets_module
from twofold.app.report.sheets import make_sheets


def squares(sizes, side, seed=0):
    """Random thumbnails in the middle of black squares."""
    rng = np.random.default_rng(seed)
    found = np.zeros((len(sizes), side, side, 3), dtype=np.uint8)
    for square, (height, width) in zip(found, sizes, strict=True):
        top, left = (side - height) // 2, (side - width) // 2
        inside = rng.integers(1, 256, size=(height, width, 3), dtype=np.uint8)
        square[top : top + height, left : left + width] = inside
    return found


def cut(found, pixels_of):
    """The thumbnails as a browser shows them."""
    pictures = []
    for uri in found.images:
        picture = pixels_of(uri)
        factor = found.width / picture.shape[1]
        size = found.width, round(picture.shape[0] * factor)
        pictures.append(np.asarray(Image.fromarray(picture).resize(size)))
    return [
        pictures[sheet][top : top + height, left : left + width]
        for sheet, left, top, width, height in found.places
    ]


@settings(max_examples=25, deadline=None)
@given(side=st.integers(1, 32), n=st.integers(1, 40), seed=st.integers(0, 99))
def test_small_thumbnails_come_back_exactly(side, n, seed, pixels_of):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, side + 1, size=(n, 2))
    thumbnails = squares(sizes, side, seed)
    found = make_sheets(thumbnails, sizes)
    assert found.side == side
    for i, shown in enumerate(cut(found, pixels_of)):
        height, width = sizes[i]
        assert shown.shape == (height, width, 3)
        top, left = (side - height) // 2, (side - width) // 2
        inside = thumbnails[i, top : top + height, left : left + width]
        np.testing.assert_array_equal(shown, inside)


def test_many_are_on_several_sheets(monkeypatch, pixels_of):
    monkeypatch.setattr(sheets_module, "_SIDE", 40)
    sizes = np.full((23, 2), 10)
    thumbnails = squares(sizes, 10)
    found = make_sheets(thumbnails, sizes)
    assert len(found.images) == 2  # 4 x 4 each
    assert len({tuple(place) for place in found.places}) == 23
    for uri in found.images:
        assert max(pixels_of(uri).shape) <= 40
        assert pixels_of(uri).shape[1] == found.width
    np.testing.assert_array_equal(cut(found, pixels_of), thumbnails)


def test_a_thumbnail_larger_than_a_sheet_has_its_own(monkeypatch, pixels_of):
    monkeypatch.setattr(sheets_module, "_SIDE", 8)
    sizes = np.full((3, 2), 10)
    thumbnails = squares(sizes, 10)
    found = make_sheets(thumbnails, sizes)
    assert [place[0] for place in found.places] == [0, 1, 2]
    np.testing.assert_array_equal(cut(found, pixels_of), thumbnails)


def smooth(n, side):
    """Thumbnails of one colour each, which compression keeps."""
    colours = np.random.default_rng(0).integers(30, 220, size=(n, 1, 1, 3))
    return np.broadcast_to(colours, (n, side, side, 3)).astype(np.uint8)


def test_large_thumbnails_are_compressed_but_in_place(pixels_of):
    thumbnails = smooth(30, 48)
    found = make_sheets(thumbnails, np.full((30, 2), 48))
    for shown, known in zip(cut(found, pixels_of), thumbnails, strict=True):
        inside = shown[4:-4, 4:-4].astype(int)
        assert np.abs(inside - known[0, 0]).max() < 12


@pytest.mark.parametrize("budget", [40_000, 15_000, 6_000])
def test_sheets_stay_within_their_budget_and_in_place(budget, monkeypatch, pixels_of):
    rng = np.random.default_rng(0)
    base = smooth(64, 48).astype(float)
    thumbnails = np.clip(base + rng.normal(0, 25, base.shape), 0, 255).astype(np.uint8)
    monkeypatch.setattr(sheets_module, "_BUDGET", budget)
    monkeypatch.setattr(sheets_module, "_SIDE", 192)  # four sheets
    found = make_sheets(thumbnails, np.full((64, 2), 48))
    assert len(found.images) == 4
    assert sum(map(len, found.images)) <= budget
    means = np.array([shown.mean(axis=(0, 1)) for shown in cut(found, pixels_of)])
    assert np.abs(means - base[:, 0, 0]).max() < 25


def test_exactness_gives_way_to_the_budget(monkeypatch, pixels_of):
    sizes = np.full((100, 2), 30)
    thumbnails = squares(sizes, 30)
    exact = sum(map(len, make_sheets(thumbnails, sizes).images))
    monkeypatch.setattr(sheets_module, "_BUDGET", exact // 3)
    found = make_sheets(thumbnails, sizes)
    assert sum(map(len, found.images)) <= exact // 3
    assert [shown.shape for shown in cut(found, pixels_of)] == [(30, 30, 3)] * 100


def test_no_more_is_lost_than_the_budget_asks_for(monkeypatch):
    sizes = np.full((16, 2), 40)
    thumbnails = squares(sizes, 40)
    lengths = [sum(map(len, make_sheets(thumbnails, sizes).images))]
    for part in (0.95, 0.65, 0.3):
        monkeypatch.setattr(sheets_module, "_BUDGET", int(part * lengths[0]))
        lengths.append(sum(map(len, make_sheets(thumbnails, sizes).images)))
        assert lengths[-1] <= part * lengths[0]
    assert lengths[0] > lengths[1] > lengths[2] > lengths[3]
