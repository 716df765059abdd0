"""``--max-memory``, as a user gives it."""

import numpy as np
import pytest
import typer
from runner import inside

from twofold.app.cli.options import read_size


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("1", 1),
        ("500MB", 500_000_000),
        ("4GiB", 4 * 2**30),
        ("1.5 gib", 3 * 2**29),
        ("2k", 2000),
        ("3Ti", 3 * 2**40),
        ("8b", 8),
    ],
)
def test_sizes(text, n_bytes):
    assert read_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "lots", "0", "-1GiB", "1GG", "1e9", "0.1", "GiB"])
def test_what_is_no_size(text):
    with pytest.raises(typer.BadParameter, match="expected a size such as 4GiB or 500"):
        read_size(text)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an array file, and the results of clustering it."""
    folder = tmp_path_factory.mktemp("memory")
    stack = np.random.RandomState(0).uniform(size=(20, 4, 4))  # 2,560 bytes
    np.savez(folder / "a.npz", X=stack, y=np.arange(20) % 2)
    options = ["--graph", "heat", "--max-memory", "2560B"]
    done = inside("cluster", "a.npz", "-k", "2", *options, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "command",
    [("cluster", "a.npz", "--out", "new"), ("predict", "a-clusters", "a.npz")],
)
def test_more_than_the_limit_is_one_line_that_names_the_option(place, command):
    done = inside(*command, "--max-memory", "2kB", folder=place)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: a.npz: X would take 2.5 KiB, and max_memory ")
    assert "--max-memory" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "new").exists()


def test_labels_count_and_unknown_ones_are_called_labels(place):
    options = ["--max-memory", "2560", "--out", "new", "--labels"]
    done = inside("cluster", "a.npz", *options, "y", folder=place)
    assert "Error: a.npz: X and y would take 2.7 KiB" in done.stderr
    done = inside("cluster", "a.npz", *options, "foo", folder=place)
    expected = (
        "Error: --labels='foo' is not in a.npz, which has X (20, 4, 4), y (20,)\n"
    )
    assert done.stderr == expected


def test_a_size_that_is_none(place):
    done = inside("cluster", "a.npz", "--max-memory", "lots", folder=place)
    assert done.returncode == 2
    assert "'--max-memory': expected a size such as 4GiB" in done.stderr
