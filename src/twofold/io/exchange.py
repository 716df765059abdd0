"""Exchange two files or folders in one step, where the system can."""

import ctypes
import os
import sys
from pathlib import Path

_WORKING_FOLDER = -100
"""``AT_FDCWD`` of Linux: relative paths begin in the working folder."""

_EXCHANGE = ctypes.c_uint(2)
"""``RENAME_EXCHANGE`` of Linux, and ``RENAME_SWAP`` of macOS."""


def exchange(first: Path, second: Path) -> bool:
    """Let two paths take each other's place, so that none is missing at any time.

    Return False, with nothing changed, where that fails: one of them does not exist, or
    the system (Windows) or the file system (such as NFS) cannot do it.
    """
    one, other = os.fsencode(first), os.fsencode(second)
    try:
        system = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(system.renamex_np(one, other, _EXCHANGE) == 0)
        here = _WORKING_FOLDER
        return bool(system.renameat2(here, one, here, other, _EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):  # a system without the function
        return False
