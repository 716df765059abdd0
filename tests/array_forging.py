"""Array files as a stranger may write them, and how reading refuses them."""

import h5py
import pytest

from twofold.io import read_stack


def make_mat73(path, fill):
    """Write a .mat file of version 7.3, to which ``fill`` adds what is to be found."""
    with h5py.File(path, "w", userblock_size=512, libver="earliest") as file:
        fill(file)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return path


def refused(path, reason, **options):
    """Check that reading names the file and the reason in one line."""
    with pytest.raises(ValueError, match=reason) as caught:
        read_stack(path, **options)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert "secret of" not in message
