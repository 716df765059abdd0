"""--features on the command line."""

import json

import numpy as np
import pytest
from small_photos import make_images, table

from twofold import TSNMF

ROWS = np.random.RandomState(0).normal(size=(3, 12))[np.arange(24) % 3]
ROWS = ROWS + 0.1 * np.random.RandomState(1).normal(size=ROWS.shape)
FIT = ("-k", "3", "--graph", "heat")


@pytest.fixture
def photos(tmp_path):
    np.save(tmp_path / "f.npy", ROWS)
    return make_images(tmp_path / "photos")


def test_cluster_and_predict(here, photos, tmp_path):
    done = here("cluster", photos, *FIT, "--features", "f.npy", "--json")
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["shape"] == [7, 6]
    assert facts["features"] == [12]
    expected = TSNMF(3, graph="heat", random_state=0).fit(ROWS).labels_
    rows = table(tmp_path / "photos-clusters" / "assignments.csv")
    assert [int(row["cluster"]) for row in rows] == expected.tolist()
    given = ("--features", "f.npy", "--out", "p.csv")
    assert here("predict", "photos-clusters", photos, *given).returncode == 0
    assert [row["path"] for row in table(tmp_path / "p.csv")] == [
        row["path"] for row in rows
    ]
    done = here("predict", "photos-clusters", photos)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: --features must be given for the model in")


def test_a_search_and_its_lines(here, photos):
    done = here("cluster", photos, "-k", "3", "--features", "f.npy")
    assert "compared by their features, 12 of each" in done.stdout
    assert "chosen: graph " in done.stdout


@pytest.mark.parametrize(
    "given",
    [("--align", "shifts"), ("--missing", "nan"), ("--channels", "gradients")],
)
def test_options_of_pixels_are_usage_errors(here, photos, given):
    done = here("cluster", photos, *FIT, "--features", "f.npy", *given)
    assert done.returncode == 2
    assert given[0] in done.stderr
    assert "Traceback" not in done.stderr


def test_pixels_are_what_features_are_taken_for(here, photos):
    for channels in ("pixels", "auto"):
        given = ("--features", "f.npy", "--channels", channels, "--force")
        assert here("cluster", photos, *FIT, *given).returncode == 0


def test_errors_name_the_option_and_the_file(here, photos, tmp_path):
    np.save(tmp_path / "few.npy", ROWS[:7])
    done = here("cluster", photos, *FIT, "--features", "few.npy")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: --features in few.npy must have a row for ea")
    assert done.stderr.count("\n") == 1
    for given in (["none.npy"], ["f.npy", "--key", "x"]):
        done = here("cluster", photos, *FIT, "--features", *given)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
    done = here("cluster", photos, *FIT, "--key", "x")  # there is no array to name
    assert done.returncode == 2
