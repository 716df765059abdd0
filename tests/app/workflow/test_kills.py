"""Results that a killed run has hidden, where folders are replaced in two steps."""

import os
import shutil
from pathlib import Path

import pytest
from killing import killed, needs_kills, second_rename
from small_photos import FILES, run

from twofold.app.outputs import check_folder
from twofold.app.workflow import predict, rewrite_report
from twofold.io import staging

pytestmark = needs_kills


@pytest.fixture(scope="module")
def hidden(photos, done, tmp_path_factory):
    """A folder in which ``out`` is moved aside, and nothing has taken its place."""
    place = tmp_path_factory.mktemp("killed")
    shutil.copytree(done[0], place / "out")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "exchange", lambda first, second: False)
        assert killed(lambda: run(photos, place / "out", force=True), second_rename)
    [left] = os.listdir(place)
    assert left.startswith(".out.partial-")
    return place


@pytest.fixture
def out(hidden, tmp_path):
    return Path(shutil.copytree(hidden, tmp_path / "place")) / "out"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_they_are_there_for_every_command(photos, done, out):
    def refused():
        with pytest.raises(FileExistsError, match=r"not empty; .* with --force"):
            check_folder(out, force=False)

    for command in (
        refused,
        lambda: check_folder(out, force=True),
        lambda: predict(out, photos),
        lambda: predict(out / "model.safetensors", photos),
        lambda: rewrite_report(out),
    ):
        command()
        assert contents(out) == contents(done[0])
        # Hidden again.
        os.rename(out, next(out.parent.glob(".out.partial-*")) / "old-01")


def test_without_force_they_are_neither_replaced_nor_removed(photos, done, out):
    with pytest.raises(FileExistsError, match="not empty"):
        run(photos, out)
    assert contents(out) == contents(done[0])


def test_with_force_they_are_replaced(photos, out):
    run(photos, out, force=True, sort="link")
    assert set(os.listdir(out)) == FILES | {"clusters", "sorted.csv"}
