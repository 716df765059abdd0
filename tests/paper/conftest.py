import os
import sys
from pathlib import Path

import pytest

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)


@pytest.fixture(autouse=True)
def _tiny_is_importable(monkeypatch):
    """``tiny:...`` names data and methods here and in worker processes."""
    monkeypatch.setenv("PYTHONPATH", FOLDER, prepend=os.pathsep)
