"""Bad command lines: one line that names the option, what came, and the way out."""

import os
import re
import subprocess
import sys

import numpy as np
import problems
import pytest
from runner import environment

from twofold import TSNMF
from twofold.app import workflow
from twofold.app.cli import console


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with array files, other files, links, and results in ``res``."""
    folder = tmp_path_factory.mktemp("place")
    images = problems.images(n=12)
    np.save(folder / "a.npy", images)
    np.savez(folder / "b.npz", X=images, y=np.arange(12) % 3)
    np.save(folder / "huge.npy", 1e160 * images)
    np.save(folder / "tiny.npy", 1e-200 * images)
    (folder / "file").touch()
    (folder / "empty").mkdir()
    (folder / "nowhere").symlink_to("none")
    (folder / "loop").symlink_to("loop")
    collection = workflow.read(folder / "a.npy")
    workflow.cluster(collection, TSNMF(3, random_state=0), folder / "res")
    return folder


@pytest.fixture
def here(place, here):
    """Runs the command in ``place``, which stays as it is."""
    before = sorted(os.listdir(place))
    yield lambda *arguments: here(*arguments, folder=place)
    assert sorted(os.listdir(place)) == before


LONG = "x" * 300

USAGE = [
    ("cluster", "", "'INPUT': expected a path, got ''"),
    ("cluster", "loop", "'INPUT': expected a path that can be used"),
    ("cluster", "a.npy", "-k", "", "--clusters: expected a number .*, got nothing;"),
    ("cluster", "a.npy", "--out", "", "'--out': expected a path, got ''"),
    ("cluster", "a.npy", "--out", "loop", "'--out': expected a path that can be used"),
    ("cluster", "a.npy", "--out", LONG, "'--out': .* can be used: File name too long"),
    ("cluster", "a.npy", "--cache", "", "'--cache': expected a path, got ''"),
    ("cluster", "a.npy", "--cache", "file", "--cache: must be a folder, got file, whi"),
    ("cluster", "a.npy", "--cache", "file/x", "--cache: .* got file/x: Not a directo"),
    ("cluster", "a.npy", "--cache", "nowhere", "--cache: .* is a link that leads now"),
    ("cluster", "a.npy", "--cache", "/proc/x", "--cache: must be .* can be written"),
    ("cluster", "digits", "--key", "X", "--key: is for array files, and digits is no"),
    ("cluster", "digits", "--sample-shape", "3x3", "--sample-shape: is for array fil"),
    ("cluster", "digits", "--max-memory", "1GiB", "--max-memory: is for array files,"),
    ("cluster", "digits", "--order", "F", "--order: is for array files, and digits"),
    ("cluster", "digits", "--size", "8", "--size: is for image files, and digits is"),
    ("cluster", "digits", "--grey", "--grey: is for image files, and digits is none"),
    ("cluster", "digits", "--sort", "copy", "--sort: is for image files, and digits"),
    ("cluster", "a.npy", "--color", "--color: is for image files, and a.npy is none"),
    ("cluster", "empty", "--key", "X", "--key: is for array files, and empty is none"),
    ("cluster", "a.npy", "--sample-shape", "", "expected sizes .* got nothing;"),
    ("cluster", "a.npy", "-k", "3", "--graph", "", "--graph: .*, got nothing;"),
    ("cluster", "a.npy", "-k", "3", "--starts", "9" * 20, "--starts: .* at most 1,000"),
    ("predict", "", "a.npy", "'MODEL': expected a path, got ''"),
    ("predict", "res", "", "'INPUT': expected a path, got ''"),
    ("predict", "res", "a.npy", "--out", "", "'--out': expected a path, got ''"),
    ("predict", "res", "a.npy", "--out", LONG, "'--out': .*: File name too long"),
    ("predict", "res", "digits", "--key", "X", "--key: is for array files, and digi"),
    ("predict", "res", "empty", "--key", "X", "--key: is for array files, and empty"),
    ("report", "", "'DIR': expected a path, got ''"),
    ("report", LONG, "'DIR': expected a path that can be used: File name too long"),
    ("demo", "--out", "", "'--out': expected a path, got ''"),
]

FAILURES = [
    ("cluster", "huge.npy", "-k", "3", r"huge.npy must have .* divide huge.npy by 1e9"),
    ("cluster", "tiny.npy", "-k", "3", r"tiny.npy must have .* multiply tiny.npy by"),
    ("predict", "res", "huge.npy", "huge.npy must have entries of magnitudes up to"),
    ("cluster", "b.npz", "--key", "z", "--key='z' is not in b.npz, which has X"),
    (
        "cluster",
        "b.npz",
        "--key",
        "X",
        "--labels",
        "z",
        "--labels='z' is not in b.npz, which has X",
    ),
    ("cluster", "a.npy", "-k", "3", "--directions", "99", "--directions=99 must be at"),
    (
        "cluster",
        "a.npy",
        "-k",
        "3",
        "--graph-weight",
        "1e300",
        "--graph-weight must be",
    ),
    ("cluster", "a.npy", "--sample-shape", "3x3", r"--sample-shape=\(3, 3\) must fit"),
    ("predict", "res", "a.npy", "--key", "z", "--key='z' is not in a.npy, which has"),
    ("predict", "res", "a.npy", "--out", "empty", "--out empty is a folder; name a fi"),
    ("predict", "res", "a.npy", "--out", "/proc/x", "--out /proc/x cannot be written"),
]


@pytest.mark.parametrize("line", USAGE, ids=lambda line: " ".join(line[:4])[:40])
def test_what_the_options_refuse(here, line):
    *arguments, reason = line
    result = here(*arguments)
    assert result.returncode == 2
    assert_one_line(result.stderr, reason)
    assert "; see twofold " in result.stderr


@pytest.mark.parametrize("line", FAILURES, ids=lambda line: " ".join(line[:4])[:40])
def test_what_the_input_does_not_allow(here, line):
    *arguments, reason = line
    result = here(*arguments)
    assert result.returncode == 1
    assert_one_line(result.stderr, reason)


def assert_one_line(text, reason):
    assert text.count("\n") == 1
    assert re.match(f"Error: .*{reason}", text)


def test_an_empty_name_is_not_the_working_folder(place):
    with pytest.raises(
        ValueError, match="the input must have a name, got an empty one"
    ):
        workflow.read("")


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (MemoryError(), "out of memory; give fewer or smaller samples"),
        (MemoryError("too big"), "out of memory (too big); give fewer or smaller"),
        (OSError(28, "No room"), "the output could not be written: No room"),
        (OSError(13, "Not allowed", "there"), "there: Not allowed"),
        (OSError("in words"), "in words"),
        (ImportError("what a file takes"), "what a file takes"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_failures_in_words(failure, text):
    assert console.reason_of(failure).startswith(text)


@pytest.mark.parametrize(
    ("arguments", "redirection", "reason"),
    [
        (["--help"], "> /dev/full", "the output could not be written: No space left"),
        (["--version"], "> /dev/full", "the output could not be written: No space"),
        (["predict", "res", "a.npy"], "> /dev/full", "the output could not be written"),
        (["predict", "res", "a.npy"], ">&-", "the standard output is closed; name a f"),
    ],
)
def test_an_output_that_takes_nothing(place, arguments, redirection, reason):
    line = f'exec "$0" -m twofold {" ".join(arguments)} {redirection}'
    result = subprocess.run(
        ["sh", "-c", line, sys.executable],
        cwd=place,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert result.returncode == 1
    assert result.stderr.startswith(f"Error: {reason}")
    assert result.stderr.count("\n") == 1
