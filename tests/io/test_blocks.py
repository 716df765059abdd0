"""Images of one size in blocks: the same pixels as in one stack, a few at a time."""

import numpy as np
import pytest
from small_photos import odd_photos

from twofold.io import read_images
from twofold.io.blocks import image_blocks


@pytest.fixture
def odd(tmp_path):
    return odd_photos(tmp_path)


@pytest.mark.parametrize("block", [1, 4, 100])
def test_blocks_hold_the_pixels_of_the_stack(odd, block):
    known = read_images(odd, 24, color=True, fit="crop", progress=False)
    assert len(known.images) == 7 + 2 * 7
    assert not known.skipped
    blocks = list(image_blocks(known.paths, known.frames, 24, block=block))
    assert {len(each) for each in blocks[:-1]} <= {block}
    np.testing.assert_array_equal(np.concatenate(blocks), known.images)


def test_blocks_are_read_when_they_are_asked_for(odd):
    known = read_images(odd, 24, color=True, fit="crop", progress=False)
    blocks = image_blocks(known.paths, known.frames, 24, block=1)
    np.testing.assert_array_equal(next(blocks)[0], known.images[0])
    known.paths[1].unlink()
    with pytest.raises(ValueError, match="cannot be read in 24 x 24 pixels: there is"):
        next(blocks)


def test_the_limit_of_memory_is_kept(odd):
    paths = [odd / "plain.png"]
    with pytest.raises(ValueError, match=r"plain.png .* raise it with max_memory"):
        next(image_blocks(paths, [0], 24, max_memory=1000))
