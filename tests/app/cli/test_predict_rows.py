"""``twofold predict`` of array files whose rows are read by blocks."""

import gc
import re
import tracemalloc

import numpy as np
import problems
import pytest
from runner import inside

from twofold.app.collection import Reading, open_collection
from twofold.estimators import prediction, scaling
from twofold.io.stored import StoredRows

X = problems.images(60)
BYTES = np.interp(X, (X.min(), X.max()), (0, 255)).astype(np.uint8)
COLOURS = np.stack([BYTES, BYTES[::-1], BYTES // 2], axis=-1)


@pytest.fixture(scope="module", params=["grey", "colour"])
def place(request, tmp_path_factory):
    """A folder with the results of clustering images, and these images."""
    folder = tmp_path_factory.mktemp(request.param)
    images = BYTES if request.param == "grey" else COLOURS
    np.save(folder / "a.npy", images)
    options = ["-k", "3", "--graph", "heat", "--channels", "pixels", "--out", "out"]
    done = inside("cluster", "a.npy", *options, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder, images


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(prediction, "_BLOCK_SAMPLES", 7)
    monkeypatch.setattr(scaling, "_BLOCK_ENTRIES", 1024)


def predict(folder, *arguments):
    return inside("predict", "out", *arguments, folder=folder)


KINDS = {
    "bytes": lambda images: images,
    "big-endian": lambda images: images.astype(">f4"),
    "doubles": lambda images: images / 255,
    "half": lambda images: images.astype(np.float16),
    "signed": lambda images: images.astype(">i8") - 100,
    "truth": lambda images: images > 100,
    "Fortran": np.asfortranarray,
    "rows": lambda images: images.reshape(len(images), -1),
    "one": lambda images: images[:1],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_table_is_that_of_an_array_that_is_read_whole(place, kind, options):
    folder, images = place
    np.save(folder / "new.npy", KINDS[kind](images))
    np.savez(folder / "new.npz", data=KINDS[kind](images))
    by_rows = predict(folder, "new.npy", *options)
    whole = predict(folder, "new.npz", *options)
    assert by_rows.returncode == whole.returncode == 0, by_rows.stderr
    assert by_rows.stdout == whole.stdout.replace("new.npz", "new.npy")
    to_file = predict(folder, "new.npy", *options, "--out", "new.csv", "--force")
    assert to_file.returncode == 0
    assert (folder / "new.csv").read_text() == by_rows.stdout


def test_rows_in_fortran_order_are_read_at_once(tmp_path):
    for name, array in {"C": X, "F": np.asfortranarray(X)}.items():
        np.save(tmp_path / f"{name}.npy", array)
        with open_collection(tmp_path / f"{name}.npy", Reading()) as found:
            assert isinstance(found.images, StoredRows) == (name == "C")
            np.testing.assert_array_equal(found.images[10:20], X[10:20])
            assert list(found.names[58:]) == [*found.names][58:]
            assert found.names[-1] == f"{tmp_path / name}.npy[59]"


def nans(array):
    wrong = array.astype(float)
    flat = wrong.reshape(len(wrong), -1)
    flat[[3, 3, 41], [0, 1, 2]] = np.nan
    flat[50, 1] = -np.inf
    return wrong


NOT_FINITE = "bad.npy must be finite, got 3 NaN and 1 infinite entries, the first in "


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (nans, f"Error: {NOT_FINITE}bad.npy[3]; cluster with --missing nan"),
        (lambda array: 1e300 * array, "Error: bad.npy must have entries of magnitudes"),
        (lambda array: array[:, 1:], "Error: samples of bad.npy must be 7 x 6"),
    ],
)
def test_errors_are_those_of_an_array_that_is_read_whole(place, spoil, expected):
    folder, images = place
    np.save(folder / "bad.npy", spoil(images))
    np.savez(folder / "bad.npz", data=spoil(images))
    by_rows, whole = predict(folder, "bad.npy"), predict(folder, "bad.npz")
    assert by_rows.returncode == 1
    assert by_rows.stdout == ""  # what is wrong is said before any table
    assert by_rows.stderr.startswith(expected)
    assert by_rows.stderr == whole.stderr.replace("bad.npz", "bad.npy")
    assert by_rows.stderr.count("\n") == 1


def test_a_file_that_is_cut_off(place):
    folder, images = place
    np.save(folder / "cut.npy", images)
    content = (folder / "cut.npy").read_bytes()
    (folder / "cut.npy").write_bytes(content[:-5])
    done = predict(folder, "cut.npy", "--out", "cut.csv")
    n = images.nbytes
    reason = f"an array of {n:,} bytes, of which there are {n - 5:,}"
    expected = f"Error: cut.npy: cannot be read as .npy ({reason})\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert not (folder / "cut.csv").exists()


def test_a_file_that_shrinks_meanwhile(tmp_path):
    big = np.random.default_rng(0).integers(0, 255, (4096, 100), dtype=np.uint8)
    np.save(tmp_path / "a.npy", big)
    with open_collection(tmp_path / "a.npy", Reading()) as found:
        np.testing.assert_array_equal(found.images[:100], big[:100])
        with (tmp_path / "a.npy").open("r+b") as file:
            file.truncate(200_000)
        with pytest.raises(ValueError, match=r"a\.npy: cannot be read as .* that ends"):
            found.images[3900:4000]


def test_objects_are_not_unpickled(place):
    folder, images = place
    np.save(folder / "objects.npy", images.astype(object), allow_pickle=True)
    done = predict(folder, "objects.npy")
    assert done.returncode == 1
    assert done.stderr == "Error: objects.npy: holds no array of numbers\n"


def test_an_empty_array_is_called_so(place):
    folder, images = place
    np.save(folder / "none.npy", images[:0])
    done = predict(folder, "none.npy")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: none.npy: holds no array of numbers, only empty ones\n"
    )


def test_what_is_read_at_a_time_is_what_is_limited(place):
    folder, images = place
    block = images[:7].nbytes
    assert predict(folder, "a.npy", "--max-memory", str(block)).returncode == 0
    done = predict(folder, "a.npy", "--max-memory", str(block - 1))
    assert done.returncode == 1
    assert re.match(r"Error: a.npy: a block of \d+ samples of data would", done.stderr)


def test_memory_does_not_grow_with_the_samples(place):
    """A sample more takes less than its name alone, which has 60 bytes.

    What is left is of the blocks, which have seven samples each here.
    """
    folder, images = place

    def peak(copies):
        many = np.concatenate([images] * copies)
        np.save(folder / "many.npy", many)
        del many
        gc.collect()
        tracemalloc.start()
        done = predict(folder, "many.npy", "--out", "many.csv", "--force")
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done.returncode == 0
        return held

    peak(2)  # which imports what is imported later
    more = (160 - 10) * len(images)
    assert peak(160) - peak(10) < 40 * more
