"""A small folder of pictures, and the results for it."""

import shutil
from pathlib import Path

import pytest
from small_photos import make_images, run


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("input") / "photos")


@pytest.fixture(scope="module")
def done(photos, tmp_path_factory):
    """The results for ``photos``, which no test may write to, and what made them."""
    out = tmp_path_factory.mktemp("results") / "out"
    page, collection, model = run(photos, out)
    assert page == out / "report.html"
    return out, collection, model


@pytest.fixture
def results(done, tmp_path):
    """A copy to be spoiled."""
    return Path(shutil.copytree(done[0], tmp_path / "results"))
