"""The command inside the process of the tests, for what needs no process of its own."""

from functools import partial

import pytest
from runner import inside


@pytest.fixture
def here(tmp_path):
    """Runs the command in ``tmp_path``."""
    return partial(inside, folder=tmp_path)
