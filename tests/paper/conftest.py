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
