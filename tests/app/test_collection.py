"""Everything that a user may name, and what may be wrong with it."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from twofold.app.collection import (
    Reading,
    folder_of,
    kind_of,
    name_of,
    read_collection,
)
from twofold.paper import datasets
from twofold.progress import listening

STACK = np.arange(120, dtype=np.float64).reshape(5, 24)
CLASSES = np.array([7, 3, 3, 7, 9])


def save(path, level=100, size=(8, 6), mode="L"):
    """An image of one level; ``size`` is its height and width."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = size if mode == "L" else (*size, 3)
    pixels = np.full(shape, level, dtype=np.uint8)
    if mode == "RGB":
        pixels[..., 0] = 255
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def photos(tmp_path):
    """a/1.png, a/2.png and b/3.png, of rising brightness, and a broken one."""
    for i, name in enumerate(["a/1.png", "a/2.png", "b/3.png"]):
        save(tmp_path / "photos" / name, level=51 * (i + 1))
    (tmp_path / "photos/broken.png").write_bytes(b"no image")
    return tmp_path / "photos"


# Images


def test_a_folder(photos):
    events = []
    with listening(events.append):
        found = read_collection(photos)
    expected = [photos / name for name in ("a/1.png", "a/2.png", "b/3.png")]
    assert found.paths == expected
    assert found.names == [str(path) for path in expected]
    assert found.title == "photos"
    assert found.images.shape == (3, 8, 6)
    np.testing.assert_allclose(found.images.mean(axis=(1, 2)), [0.2, 0.4, 0.6])
    [(name, reason)] = found.skipped
    assert name == str(photos / "broken.png")
    assert reason
    assert found.reading == Reading(size=(8, 6), color=False)
    assert found.target is None
    assert found.thumbnails is None
    assert [(e.done, e.total) for e in events] == [(i, 4) for i in range(5)]


def test_a_folder_that_is_named_in_roundabout_ways(photos, monkeypatch):
    monkeypatch.chdir(photos / "a")
    found = read_collection("..")
    assert found.title == "photos"
    assert found.names == ["../a/1.png", "../a/2.png", "../b/3.png"]
    assert read_collection(".").title == "a"


def test_one_image(photos):
    found = read_collection(photos / "a/2.png")
    assert found.paths == [photos / "a/2.png"]
    assert found.title == "2"
    assert found.images.shape == (1, 8, 6)


def test_a_pattern(photos):
    pattern = str(photos / "*/[12].png")
    found = read_collection(pattern)
    assert [path.name for path in found.paths] == ["1.png", "2.png"]
    assert found.title == "photos"
    with pytest.raises(
        FileNotFoundError, match=r"\*.jpg: expected image files, got none"
    ):
        read_collection(str(photos / "*.jpg"))


def test_what_exists_is_not_taken_for_a_pattern_or_a_data_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "[12]/1.png")
    save(tmp_path / "1/2.png")
    save(tmp_path / "digits/1.png")
    assert read_collection("[12]").names == ["[12]/1.png"]
    assert kind_of("digits") == "images"
    assert read_collection("digits").names == ["digits/1.png"]


def test_thumbnails_are_made_if_they_are_asked_for(photos):
    found = read_collection(photos, Reading(size=(4, 4)), thumbnails=True)
    assert found.images.shape == (3, 4, 4)
    assert found.thumbnail_sizes.tolist() == [[8, 6]] * 3
    np.testing.assert_array_equal(found.thumbnails[:, 4, 4, 0], [51, 102, 153])


def test_the_reading_is_obeyed_and_completed(tmp_path):
    wide = np.zeros((8, 24, 3), dtype=np.uint8)
    wide[:, 8:16] = [255, 0, 0]
    Image.fromarray(wide).save(tmp_path / "wide.png")
    chosen = read_collection(tmp_path)
    assert chosen.reading == Reading(size=(8, 24), color=True)
    cropped = read_collection(tmp_path, Reading(size=(4, 4), color=False, fit="crop"))
    assert cropped.reading == Reading(size=(4, 4), color=False, fit="crop")
    np.testing.assert_allclose(cropped.images, 0.299, atol=0.02)  # the luma of red
    again = read_collection(tmp_path, chosen.reading)
    np.testing.assert_array_equal(again.images, chosen.images)
    with pytest.raises(ValueError, match="fit must be one of"):
        read_collection(tmp_path, Reading(fit="zoom"))


def test_labels_from_folders(photos):
    found = read_collection(photos, labels="folders")
    assert found.target_names == ["a", "b"]
    assert [found.target_names[i] for i in found.target] == ["a", "a", "b"]
    with pytest.raises(ValueError, match="can be 'folders', got 'gnd'"):
        read_collection(photos, labels="gnd")


def test_names_that_are_no_utf_8(tmp_path):
    folder = tmp_path / os.fsdecode(b"f\xff")
    save(folder / "1.png").rename(folder / os.fsdecode(b"a\nb\xfe.png"))
    found = read_collection(folder)
    assert [os.fsencode(name) for name in found.names] == [
        os.fsencode(folder) + b"/a\nb\xfe.png"
    ]
    assert os.fsencode(found.title) == b"f\xff"


def test_folders_without_images(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}: expected image files"):
        read_collection(tmp_path)
    (tmp_path / "a.txt.png").write_text("text")
    with pytest.raises(ValueError, match=r"expected readable images, .*a.txt.png"):
        read_collection(tmp_path)


# Array files


def write_array_file(path):
    """STACK and, where a file can have it, CLASSES as gnd."""
    both = {"fea": STACK, "gnd": CLASSES[:, None]}
    if path.name == "new.mat":
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, array in both.items():
                file[name] = array.T
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    elif path.suffix == ".mat":
        savemat(path, both)
    elif path.suffix.lower() == ".npz":
        np.savez(path.with_suffix(""), **both)
        path.with_suffix(".npz").rename(path)
    elif path.suffix == ".npy":
        np.save(path, STACK)
    else:
        delimiter = {".csv": ",", ".tsv": "\t", ".txt": " ", ".data": ";"}[path.suffix]
        np.savetxt(path, STACK, delimiter=delimiter)
    return path


KINDS = ("a.mat", "new.mat", "a.npz", "a.NPZ", "a.npy", "a.csv", "a.tsv", "a.txt")


@pytest.mark.parametrize("name", [*KINDS, "a.data"])
def test_array_files(tmp_path, name):
    path = write_array_file(tmp_path / name)
    assert kind_of(path) == kind_of(str(path)) == "array"
    found = read_collection(path)
    np.testing.assert_array_equal(found.images, STACK)
    assert found.names == [f"{path}[{i}]" for i in range(5)]
    assert found.title == name
    assert found.paths == []
    assert found.skipped == []
    assert found.target is None
    rows = read_collection(path, Reading(sample_shape=(4, 6)))
    np.testing.assert_array_equal(rows.images, STACK.reshape(5, 4, 6))
    columns = read_collection(path, Reading(sample_shape=(4, 6), order="F"))
    np.testing.assert_array_equal(
        columns.images, STACK.reshape(5, 6, 4).transpose(0, 2, 1)
    )
    assert columns.reading == Reading(sample_shape=(4, 6), order="F")


@pytest.mark.parametrize("name", ["a.mat", "new.mat", "a.npz"])
def test_labels_from_an_array(tmp_path, name):
    path = write_array_file(tmp_path / name)
    found = read_collection(path, Reading(key="fea"), labels="gnd")
    assert found.target_names == ["3", "7", "9"]
    np.testing.assert_array_equal(found.target, [1, 0, 0, 1, 2])
    with pytest.raises(ValueError, match=r"labels='y' is not in .* gnd \(5, 1"):
        read_collection(path, labels="y")
    with pytest.raises(ValueError, match=r"one number for each of the 5 samples, got"):
        read_collection(path, labels="fea")
    with pytest.raises(ValueError, match="key='X' is not in"):
        read_collection(path, Reading(key="X"))


def names_of(tmp_path, labels):
    np.savez(tmp_path / "a.npz", X=STACK, y=labels)
    found = read_collection(tmp_path / "a.npz", Reading(key="X"), labels="y")
    np.testing.assert_array_equal(
        found.target[:, None] == found.target, np.equal.outer(labels, labels)
    )
    return found.target_names


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([1.0, 2.0, 2.0, 1.0, -3.0]), ["-3", "1", "2"]),
        (np.array([0.5, 2.0, 2.0, 1.0, 1.0]), ["0.5", "1", "2"]),
        (np.array([True, False, True, True, True]), ["0", "1"]),
        (np.array([1234567, 1234568, 1, 1, 1]), ["1", "1234567", "1234568"]),
        (np.array([2**53 + 1, 2**53, 1, 1, 1]), ["1", str(2**53), str(2**53 + 1)]),
        (np.array([0.1, 0.1, 1, 1, 1], dtype="f4"), ["0.1", "1"]),
    ],
)
def test_the_names_of_labels_tell_them_apart(tmp_path, labels, expected):
    assert names_of(tmp_path, labels) == expected


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_labels_that_are_no_numbers(tmp_path, wrong):
    labels = np.array([1.0, wrong, 2.0, 1.0, wrong])
    with pytest.raises(ValueError, match=r"one number for each .* NaN or infinite"):
        names_of(tmp_path, labels)


@pytest.mark.parametrize("shape", [(), (30,), (1,)])
def test_arrays_that_are_no_stack(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones(shape))
    with pytest.raises(ValueError, match=r"a.npy must hold a stack of samples, got an"):
        read_collection(tmp_path / "a.npy")


def test_truth_values_become_numbers(tmp_path):
    np.save(tmp_path / "a.npy", STACK > 50)
    images = read_collection(tmp_path / "a.npy").images
    assert np.issubdtype(images.dtype, np.number)
    np.testing.assert_array_equal(images, np.where(STACK > 50, 1, 0))


def test_a_shape_that_does_not_fit(tmp_path):
    path = write_array_file(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"sample_shape=\(5, 5\) must fit the rows"):
        read_collection(path, Reading(sample_shape=(5, 5)))


def test_a_damaged_array_file(tmp_path):
    path = write_array_file(tmp_path / "a.npz")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"a.npz: cannot be read as .npz"):
        read_collection(path)


def test_a_folder_with_the_ending_of_an_array_file(tmp_path):
    save(tmp_path / "scans.mat/1.png")
    assert kind_of(tmp_path / "scans.mat") == "images"
    assert len(read_collection(tmp_path / "scans.mat").images) == 1


# Data sets and names of nothing


def test_a_data_set():
    assert kind_of("digits") == "data set"
    found, digits = read_collection("digits"), datasets.load_digits()
    np.testing.assert_array_equal(found.images, digits.images)
    np.testing.assert_array_equal(found.target, digits.target)
    assert found.target_names == [str(i) for i in range(10)]
    assert found.names[17] == "digits[17]"
    assert len(found.names) == 1797
    assert found.paths == []
    with pytest.raises(ValueError, match="labels of digits come by themselves"):
        read_collection("digits", labels="folders")


def test_a_data_set_whose_classes_have_no_names(monkeypatch):
    digits = datasets.load_digits()
    digits.target_names = []
    monkeypatch.setattr(datasets, "load", lambda name: digits)
    assert read_collection("orl").target_names == [str(i) for i in range(10)]


@pytest.mark.parametrize(
    "source", ["nothing", "Digits", "none/a.npy", "none.png", Path("no/folder")]
)
def test_names_of_nothing_say_what_could_be_named(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    for function in (kind_of, read_collection):
        with pytest.raises(FileNotFoundError, match=r"expected a folder, .* digits"):
            function(source)


def test_many_files(photos):
    paths = [photos / "a/2.png", save(photos / "b/9.png")]
    found = read_collection([str(path) for path in paths], labels="folders")
    assert found.paths == paths
    assert found.title == photos.name
    assert found.target_names == ["a", "b"]


@pytest.mark.parametrize("other", ["a", "x.npy", "none.png"])
def test_many_inputs_must_be_image_files(photos, other):
    np.save(photos / "x.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match=f"{other}: of many inputs each must be"):
        read_collection([photos / "a/2.png", photos / other])


def test_one_folder_makes_no_classes(photos):
    with pytest.raises(ValueError, match=r"more than one folder, and all are in '.'"):
        read_collection(photos / "a", labels="folders")


@pytest.mark.parametrize(
    ("source", "folder", "name"),
    [
        ("photos", "photos", "photos"),
        ("photos/*/*.png", "photos", "photos"),
        ("photos/a/[12].png", "photos/a", "a"),
        ("photos/a/2.png", "photos/a", "2"),
        ("x.npy", ".", "x"),
        ("digits", ".", "digits"),
    ],
)
def test_folders_and_names(photos, monkeypatch, source, folder, name):
    monkeypatch.chdir(photos.parent)
    np.save("x.npy", np.ones((3, 2)))
    assert folder_of(source) == Path(folder)
    assert name_of(source) == name
