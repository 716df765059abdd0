"""The command inside the process of the tests, for what needs no process of its own."""

from functools import partial

import pytest
from runner import inside

from twofold.channels.network import sources


@pytest.fixture(autouse=True)
def no_network_by_itself(monkeypatch):
    """Have no network tried that a test does not ask for, installed or not."""
    monkeypatch.setattr(sources, "is_installed", lambda: False)


@pytest.fixture
def here(tmp_path):
    """Runs the command in ``tmp_path``."""
    return partial(inside, folder=tmp_path)
