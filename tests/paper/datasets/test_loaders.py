"""Every container of a data set is recognised, and nothing else is."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from real_data import folder, load_or_skip
from scipy.io import savemat

from twofold import datasets
from twofold.paper.datasets import loaders
from twofold.paper.datasets.catalogue import CATALOGUE
from twofold.paper.datasets.decode import decode_file, digest

COUNTS = {  # shape of the images, classes, sizes of the smallest and largest class
    "yale": ((165, 32, 32), 15, 11, 11),
    "orl": ((400, 32, 32), 40, 10, 10),
    "eyaleb": ((2414, 32, 32), 38, 59, 64),
    "jaffe": ((213, 32, 32), 10, 20, 23),
    "pix": ((100, 100, 100), 10, 10, 10),
    "semeion": ((1593, 16, 16), 10, 155, 162),
    "mnist": ((70_000, 28, 28), 10, 6313, 7877),
    "digits": ((1797, 8, 8), 10, 174, 183),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_of_the_real_data(name):
    images, target = load_or_skip(name)
    shape, n_classes, smallest, largest = COUNTS[name]
    assert images.shape == shape
    sizes = np.bincount(target)
    assert (len(sizes), sizes.min(), sizes.max()) == (n_classes, smallest, largest)


@pytest.mark.parametrize("name", ["yale", "orl", "eyaleb", "jaffe", "pix"])
def test_faces_stand_upright(name):
    """Left and right halves of a face are alike, its upper and lower ones are not."""
    images, _ = load_or_skip(name)
    mean = images.mean(axis=0)
    mean -= mean.mean()
    assert np.sum(mean * mean[:, ::-1]) > 1.2 * np.sum(mean * mean[::-1])


@pytest.mark.parametrize("name", ["semeion", "mnist", "digits"])
def test_digits_stand_upright(name):
    """The head of a seven is heavier than its foot, and a one is not a dash."""
    images, target = load_or_skip(name)
    seven = images[target == 7].mean(axis=0)
    height = len(seven)
    assert seven[: height // 2].sum() > seven[height // 2 :].sum()
    one = images[target == 1].mean(axis=0)
    assert one.sum(axis=1).std() < one.sum(axis=0).std()


@pytest.mark.parametrize("name", datasets.NAMES)
def test_each_has_its_own_loader_and_description(name, monkeypatch):
    load_or_skip(name)
    monkeypatch.setenv("TWOFOLD_DATA", str(folder()))
    named, own = datasets.load(name), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(named.images, own.images)
    np.testing.assert_array_equal(named.target, own.target)
    assert named.target_names == own.target_names
    assert len(named.target_names) in (0, COUNTS[name][1])
    assert len(named.DESCR) > 200
    for part in ("Cite: ", "Licence: "):
        assert part in named.DESCR


# A made-up data set in every container


@pytest.fixture
def made(monkeypatch):
    """A small data set that the catalogue knows, and its images and classes."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(12, 5, 4), dtype=np.uint8)
    target = np.repeat([0, 1, 2], 4).astype(np.int32)
    entry = replace(
        CATALOGUE["yale"],
        title="Made-up",
        files=("made.mat", "made.npz", "made.csv"),
        n_samples=12,
        n_classes=3,
        height=5,
        width=4,
        pixel_digest=digest(images),
        label_digest=digest(target),
        addresses=(),
    )
    monkeypatch.setitem(loaders.CATALOGUE, "yale", entry)
    return entry, images, target


def flat(images, order):
    return np.stack([image.ravel(order=order) for image in images])


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("unit", [1, 255, 256])
@pytest.mark.parametrize(
    ("pixels", "labels"), [("fea", "gnd"), ("X", "Y"), ("features", "Label")]
)
def test_matlab_files(made, tmp_path, pixels, labels, unit, transposed, order, base):
    _, images, target = made
    rows = flat(images, order) / unit
    content = {pixels: rows.T if transposed else rows, labels: target[:, None] + base}
    savemat(tmp_path / "made.mat", content)
    found = datasets.load("yale", tmp_path)
    np.testing.assert_array_equal(found.images, images)
    np.testing.assert_array_equal(found.target, target)
    assert found.images.dtype == np.uint8


def test_other_containers(made, tmp_path):
    entry, images, target = made
    np.savez(tmp_path / "stack.npz", images=images, labels=target)
    np.savez(tmp_path / "last.npz", a=images.transpose(1, 2, 0), b=target)
    np.savez(
        tmp_path / "parts.npz",
        x_train=images[:7],
        x_test=images[7:],
        y_train=target[:7],
        y_test=target[7:],
    )
    rows = flat(images, "C")
    one_hot = np.eye(3)[target]
    np.savetxt(tmp_path / "hot.csv", np.hstack([rows, one_hot]), delimiter=",")
    np.savetxt(tmp_path / "hot.txt", np.hstack([rows, one_hot]))
    np.savez(tmp_path / "hot.npz", rows=rows, classes=one_hot.T)
    np.savetxt(tmp_path / "last.csv", np.c_[rows, target + 1], delimiter=",")
    np.savetxt(tmp_path / "first.csv", np.c_[target, rows], delimiter=";")
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["fea"], file["gnd"] = rows.T, target[None]
    with (tmp_path / "new.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 9
    for path in paths:
        found, classes = decode_file(path, entry)
        np.testing.assert_array_equal(found, images, err_msg=path.name)
        np.testing.assert_array_equal(classes, target, err_msg=path.name)


def test_what_differs_is_said(made, tmp_path):
    _, images, target = made
    path = tmp_path / "made.npz"
    np.savez(path, images=images[:10], labels=target[:10])
    with pytest.raises(
        ValueError, match=r"not Made-up: expected 12 images of 5 x 4 pix"
    ):
        datasets.load("yale", path)
    changed = images.copy()
    changed[3, 2, 1] ^= 1
    np.savez(path, images=changed, labels=target)
    with pytest.raises(
        ValueError, match="as many pixels as expected, but their values"
    ):
        datasets.load("yale", path)
    np.savez(path, images=images, labels=target[::-1])
    with pytest.raises(ValueError, match="has the pixels of Made-up, but not its labe"):
        datasets.load("yale", path)


# Where it is looked for


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr("twofold.paper.datasets.locate.cache_folder", lambda: folder)
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    return folder


def test_a_path_goes_before_the_named_folder_and_that_before_the_cache(
    made, tmp_path, cache, monkeypatch
):
    _, images, target = made
    for place in ("path", "named", "cache"):
        (tmp_path / place).mkdir()
    wrong = "as many pixels as expected, .*; remove or replace this file"
    np.savez(cache / "made.npz", images=images, labels=target)
    assert len(datasets.load("yale").images) == 12
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path / "named"))
    assert len(datasets.load("yale").images) == 12  # the named folder has none
    np.savez(tmp_path / "named/made.npz", images=255 - images, labels=target)
    with pytest.raises(ValueError, match=wrong):  # a wrong file is not passed over
        datasets.load("yale")
    np.savez(tmp_path / "path/made.npz", images=images, labels=target)
    assert len(datasets.load("yale", tmp_path / "path").images) == 12
    with pytest.raises(
        FileNotFoundError, match=r"nowhere: is no file, and no folder wi"
    ):
        datasets.load("yale", tmp_path / "nowhere")


def test_what_has_no_open_address_says_how_to_ask_for_it(cache):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load_jaffe()
    message = str(caught.value)
    for part in ("no open address", CATALOGUE["jaffe"].page, "jaffe.mat", str(cache)):
        assert part in message
    assert not cache.exists()


def test_without_a_download_nothing_is_asked_of_the_web(cache, monkeypatch):
    monkeypatch.setattr("pooch.HTTPDownloader", lambda **_: pytest.fail("asked"))
    with pytest.raises(FileNotFoundError, match="download=False"):
        datasets.load("orl", download=False)


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of yale, .*, got 'coil'"):
        datasets.load("coil")


# The overview


def test_the_overview_has_the_counts_of_the_real_data(cache):
    known = datasets.overview()
    assert tuple(entry.name for entry in known) == datasets.NAMES
    for entry in known:
        (n_samples, *_), n_classes, *_ = COUNTS[entry.name]
        assert (entry.n_samples, entry.n_classes) == (n_samples, n_classes)
        assert entry.title
        assert (entry.path is None) == (entry.name != "digits")
    assert known[-1].path.is_file()
    assert not cache.exists()


def entry_of(name):
    return next(entry for entry in datasets.overview() if entry.name == name)


def test_the_overview_names_the_file_that_is_loaded(made, tmp_path, cache, monkeypatch):
    _, images, target = made
    named = tmp_path / "named"
    cache.mkdir()
    named.mkdir()
    (cache / "made.npz").mkdir()  # no file
    assert entry_of("yale").path is None
    (cache / "made.npz").rmdir()
    np.savez(cache / "made.npz", images=images, labels=target)
    assert entry_of("yale").path == cache / "made.npz"
    monkeypatch.setenv("TWOFOLD_DATA", str(named))
    assert entry_of("yale").path == cache / "made.npz"
    for name in ("made.npz", "made.mat"):  # unseen, and the first of its names first
        (named / name).write_bytes(b"wrong")
        assert entry_of("yale").path == named / name
        with pytest.raises(ValueError, match=str(named / name)):
            datasets.load("yale")


def test_the_overview_says_how_to_get_the_others(made, tmp_path, cache, monkeypatch):
    for name in (name for name in datasets.NAMES if name != "digits"):
        known = loaders.CATALOGUE[name]
        if known.addresses:
            assert "is downloaded when" in entry_of(name).way
        else:
            for part in (known.page, known.files[0], str(cache)):
                assert part in entry_of(name).way
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path / "none"))
    assert str(cache) in entry_of("yale").way  # not into what is not there
    (tmp_path / "none").mkdir()
    assert str(tmp_path / "none") in entry_of("yale").way
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "none")):
        datasets.load("yale")


def test_the_overview_asks_nothing_of_the_web(cache, monkeypatch):
    monkeypatch.setattr("pooch.HTTPDownloader", lambda **_: pytest.fail("asked"))
    assert entry_of("orl").path is None
