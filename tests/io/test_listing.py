"""Which files a source stands for."""

import pytest
from PIL import Image

from twofold.io import read_images


def test_names_that_look_like_patterns(tmp_path):
    path = tmp_path / "a[1].png"
    Image.new("L", (8, 6)).save(path)
    assert read_images(path, 4).paths == [path]


@pytest.mark.parametrize("source", [None, 3, [None], [b"a.png", 3]])
def test_sources_of_other_types(source):
    with pytest.raises(ValueError, match=r"^source must be a folder, a pattern or a"):
        read_images(source)
