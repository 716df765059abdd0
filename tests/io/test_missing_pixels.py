import numpy as np
import pytest
from PIL import Image

from twofold.io import read_images


@pytest.mark.parametrize("color", [False, True])
def test_missing_pixels_are_not_blended_with_others(tmp_path, color):
    rng = np.random.default_rng(0)
    whole = rng.integers(100, 200, size=(120, 100, 3), dtype=np.uint8)
    holed = whole.copy()
    holed[33:74, 21:60] = 0
    for name, pixels in (("whole", whole), ("holed", holed)):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
    options = {"size": (50, 41), "color": color}
    clean = read_images(tmp_path / "whole.png", **options).images
    found = read_images(tmp_path / "holed.png", missing=0, **options).images
    blended = read_images(tmp_path / "holed.png", **options).images
    missing = found == 0
    np.testing.assert_allclose(found[~missing], clean[~missing], atol=0.015)
    assert missing.sum() > (blended == 0).sum()
    # Of the block, and of no more than a pixel around it.
    share = missing.mean()
    assert 41 * 39 / 12_000 < share < (41 + 5) * (39 + 5) / 12_000
