import os
import sys
from pathlib import Path

import pytest

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)


@pytest.fixture(scope="module", autouse=True)
def _tiny_is_importable():
    """``tiny:...`` names data and methods here and in worker processes."""
    earlier = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [FOLDER, earlier]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        yield


@pytest.fixture
def small_yale(monkeypatch):
    """In place of Yale: as many classes, two rows, and a few images."""
    from small_yale import SMALL_YALE

    from twofold.paper import DATA
    from twofold.paper.data import load_data

    monkeypatch.setitem(DATA, "yale", SMALL_YALE)
    load_data.cache_clear()
    yield
    load_data.cache_clear()
