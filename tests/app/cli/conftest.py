"""The command inside the process of the tests, for what needs no process of its own."""

import signal
import subprocess
import sys

import pytest
from runner import TESTS

from twofold.app.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Runs the command in ``tmp_path``."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["twofold", *map(str, arguments)])
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(TESTS / "reproduce")
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            signal.signal(signal.SIGTERM, before)
        return subprocess.CompletedProcess(
            arguments, ended.value.code or 0, *capsys.readouterr()
        )

    return run
