"""The paper's data for tests, where it is at hand; nothing is downloaded."""

import os
from pathlib import Path

import pytest

from twofold import datasets

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def folder() -> Path:
    """Where the data may be: the folder named by TWOFOLD_DATA, or ../shared/data."""
    return Path(os.environ.get("TWOFOLD_DATA") or BESIDE)


def load_or_skip(name):
    """Images and classes, or a skipped test."""
    try:
        data = datasets.load(name, folder())
    except FileNotFoundError as missing:
        pytest.skip(f"needs the {name} data: {missing}")
    return data.images, data.target
