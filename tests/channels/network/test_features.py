"""NetworkFeatures among scikit-learn's transformers: parameters, layouts, cache."""

from pathlib import Path

import numpy as np
import pytest
from network_problems import photos, stand_in
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from twofold.channels import NetworkFeatures
from twofold.channels.network import NetworkError, features, layout
from twofold.channels.network.layout import positions, projection, reduced


@pytest.fixture
def calls(monkeypatch):
    """A network of four numbers of each box of 8 x 8 pixels, and its calls."""
    seen = []

    def run(batch, device):
        seen.append(len(batch))
        boxes = batch.reshape(-1, 3, 4, 8, 4, 8).mean(axis=(3, 5))
        return np.concatenate([boxes, boxes.sum(axis=1, keepdims=True)], axis=1)

    stand_in(monkeypatch, run)
    return seen


def test_photos_are_mapped_in_batches(calls):
    maps = NetworkFeatures().fit_transform(photos(70))
    assert maps.shape == (70, 4, 4, 4)
    assert calls == [32, 32, 6]


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.ones((1, 1, 5000)), r"at least 8 x 8 pixels, got \(1, 1, 5000\)"),
        (np.ones((3, 7, 9)), r"\(3, 7, 9\)"),
        (np.ones((3, 99)), r"\(3, 99\)"),
        (np.full((3, 9, 9), np.nan), "NaN"),
        (np.ones((3, 9, 9, 4)), "three colours for a network, got 4 channels"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "transform"])
def test_images_that_cannot_be_mapped_are_refused_in_a_line(calls, X, said, method):
    with pytest.raises(ValueError, match=said) as refusal:
        getattr(NetworkFeatures(), method)(X)
    assert "X" in str(refusal.value)
    assert "\n" not in str(refusal.value).strip()
    assert not calls


@pytest.mark.parametrize(
    "parameters",
    [
        {"network": None},
        {"maps": 0},
        {"maps": 2.5},
        {"pooled": "yes"},
        {"frame": "stretch"},
        {"cache": 3},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(calls, parameters):
    [name] = parameters
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        NetworkFeatures(**parameters).fit(photos())


def test_parameters_are_kept_and_cloned(calls):
    known = {
        "network": "timm:one",
        "maps": 3,
        "pooled": True,
        "frame": "pad",
        "cache": None,
    }
    assert clone(NetworkFeatures(**known).fit(photos())).get_params() == known
    assert repr(NetworkFeatures(pooled=True)) == "NetworkFeatures(pooled=True)"


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, bool, np.float16])
def test_numbers_of_other_types_are_read_image_by_image(calls, dtype, monkeypatch):
    """A stack of bytes is never a stack of floats, eight times as large."""
    images = np.rint(photos() * (1 if dtype is bool else 200)).astype(dtype)
    seen = []
    drawn = features.pictures
    monkeypatch.setattr(
        features, "pictures", lambda *given: seen.append(given[0]) or drawn(*given)
    )
    found = NetworkFeatures().fit_transform(images)
    assert seen[0].dtype == dtype
    expected = NetworkFeatures().fit_transform(images.astype(float))
    np.testing.assert_allclose(found, expected, atol=1e-5)


# Layouts


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((2, 9, 5, 5), (2, 5, 5, 9)),
        ((2, 5, 5, 9), (2, 5, 5, 9)),
        ((2, 5, 5, 5), (2, 5, 5, 5)),
        ((2, 16, 9), (2, 4, 4, 9)),
        ((2, 17, 9), (2, 4, 4, 9)),
        ((2, 7, 9), (2, 7, 1, 9)),
        ((2, 1, 9), (2, 1, 1, 9)),
        ((2, 9), (2, 1, 1, 9)),
    ],
)
def test_what_networks_return_is_positions_by_channels(shape, expected):
    found = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    maps = positions(found, 2, "any")
    assert maps.shape == expected
    if shape == (2, 17, 9):
        np.testing.assert_array_equal(maps.reshape(2, 16, 9), found[:, 1:])
    if shape == (2, 9, 5, 5):
        np.testing.assert_array_equal(maps[1, 2, 3], found[1, :, 2, 3])


def test_the_projection_is_always_the_same_and_keeps_angles():
    columns = projection(1280, 256)
    np.testing.assert_allclose(columns.T @ columns, np.eye(256), atol=1e-5)
    layout.projection.cache_clear()
    np.testing.assert_array_equal(projection(1280, 256), columns)
    maps = np.random.default_rng(0).uniform(size=(2, 3, 3, 1280)).astype(np.float32)
    assert reduced(maps, 256).shape == (2, 3, 3, 256)
    assert reduced(maps, None) is maps
    assert reduced(maps, 1280) is maps
    unit = [m.ravel() / np.linalg.norm(m) for m in (maps[0], maps[1])]
    small = [m.ravel() / np.linalg.norm(m) for m in reduced(maps, 256)]
    assert small[0] @ small[1] == pytest.approx(unit[0] @ unit[1], abs=0.05)


# Blocks


def test_blocks_give_what_the_stack_gives(calls):
    images = photos(41)
    expected = NetworkFeatures().transform(images)
    calls.clear()
    sizes = [1, 33, 7]
    blocks = (images[i : i + m] for i, m in zip([0, 1, 34], sizes, strict=True))
    found = NetworkFeatures().transform_blocks(blocks, 41)
    np.testing.assert_array_equal(found, expected)
    assert calls == [2, 32, 2, 7]  # one alone is rounded in another way


@pytest.mark.parametrize("n", [0, 2, 5])
def test_another_number_of_images_is_refused(calls, n):
    with pytest.raises(ValueError, match="n must be the number of images, got"):
        NetworkFeatures().transform_blocks(iter([photos(2), photos(1)]), n)


# The cache


def test_other_weights_have_features_of_their_own(tmp_path, monkeypatch):
    bank = NetworkFeatures(cache=str(tmp_path))
    stand_in(monkeypatch, lambda batch, device: batch[:, :, ::8, ::8])
    bank.transform(photos(2))
    other = {"digest": "cd" * 32}
    stand_in(monkeypatch, lambda batch, device: 2 * batch[:, :, ::8, ::8], **other)
    plain = clone(bank).set_params(cache=None).transform(photos(2))
    np.testing.assert_array_equal(bank.transform(photos(2)), plain)


def test_a_network_that_changes_meanwhile_leaves_nothing_in_the_cache(
    tmp_path, monkeypatch
):
    stand_in(monkeypatch, lambda batch, device: batch[:, :, ::8, ::8])
    monkeypatch.setattr(features, "weights_digest", lambda name: "cd" * 32)
    with pytest.raises(NetworkError, match="has changed while it was used"):
        NetworkFeatures(cache=str(tmp_path)).transform(photos(2))
    assert not files_in(tmp_path)


def test_numbers_of_numpy_are_parameters(calls, tmp_path):
    own = NetworkFeatures(maps=np.int64(3), pooled=np.True_, cache=str(tmp_path))
    assert own.transform(photos(2)).shape == (2, 1, 1, 3)


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_features_are_kept_by_the_content_of_each_image(calls, tmp_path):
    images, folder = photos(), tmp_path / "kept"
    bank = NetworkFeatures(maps=2, cache=str(folder))
    first = bank.fit_transform(images)
    again = clone(bank).fit_transform(images[::-1].copy())
    np.testing.assert_array_equal(first, again[::-1])
    plain = clone(bank).set_params(cache=None)
    np.testing.assert_array_equal(first, plain.transform(images))
    assert calls == [6, 6]
    assert len(files_in(folder)) == 6
    with_new = np.concatenate([photos(1, seed=1), images])
    bank.transform(with_new)
    assert calls == [6, 6, 2]
    others = [
        (bank, images.astype(float)),
        (clone(bank).set_params(maps=3), images),
        (clone(bank).set_params(pooled=True), images),
        (clone(bank).set_params(frame="pad"), images),
    ]
    for other, X in others:
        other.transform(X)
    assert calls == [6, 6, 2, 6, 6, 6, 6]
    assert len(files_in(folder)) == 7 + 4 * 6


@pytest.mark.parametrize(
    "damage", [b"", b"\x93NUMPY", b"PK\x03\x04junk", "cut", "bit", "pickle", "NaN"]
)
def test_damaged_files_are_made_again(calls, tmp_path, damage):
    bank = NetworkFeatures(cache=str(tmp_path))
    expected = bank.transform(photos(1))
    [path] = files_in(tmp_path)
    whole = path.read_bytes()
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 1
    wrong = {"cut": whole[:-40], "bit": bytes(broken)}
    if damage == "pickle":
        np.savez(path, features=np.array([{}], dtype=object), allow_pickle=True)
    elif damage == "NaN":
        np.savez(path, features=np.full_like(expected[0], np.nan))
    else:
        path.write_bytes(wrong.get(damage, damage))
    np.testing.assert_array_equal(bank.transform(photos(1)), expected)
    assert calls == [2, 2]
    np.testing.assert_array_equal(bank.transform(photos(1)), expected)
    assert calls == [2, 2]


class Payload:
    """What is run when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_in_the_cache_is_unpickled(calls, tmp_path):
    bank, trace = NetworkFeatures(cache=str(tmp_path / "cache")), tmp_path / "trace"
    expected = bank.transform(photos(1))
    [path] = files_in(tmp_path / "cache")
    content = np.array([Payload(trace)], dtype=object)
    np.savez(path, features=content, allow_pickle=True)
    with np.load(path, allow_pickle=True) as planted:
        planted["features"]
    assert trace.exists()
    trace.unlink()
    np.testing.assert_array_equal(bank.transform(photos(1)), expected)
    assert not trace.exists()


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 4), np.float32), np.zeros((4, 4, 4)), np.zeros((0, 4, 4))]
)
def test_files_of_another_shape_or_type_are_made_again(calls, tmp_path, wrong):
    bank = NetworkFeatures(cache=str(tmp_path))
    expected = bank.transform(photos(1))
    [path] = files_in(tmp_path)
    np.savez(path, features=wrong)
    np.testing.assert_array_equal(bank.transform(photos(1)), expected)
    assert calls == [2, 2]


def test_the_same_bytes_in_another_shape_are_another_image(calls, tmp_path):
    bank, images = NetworkFeatures(cache=str(tmp_path)), photos(1, (24, 32))
    bank.transform(images)
    bank.transform(images.reshape(1, 32, 24))
    bank.transform(images.view(np.int64))
    assert calls == [2, 2, 2]


def test_a_cache_that_cannot_be_written_is_named(calls, tmp_path):
    (tmp_path / "file").write_text("")
    bank = NetworkFeatures(cache=str(tmp_path / "file"))
    with pytest.raises(ValueError, match=r"^cache must be a folder .*file") as refusal:
        bank.transform(photos())
    assert "\n" not in str(refusal.value)


def test_the_cache_of_the_platform(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / name))
    NetworkFeatures(cache="auto").transform(photos())
    assert len(files_in(tmp_path / "twofold" / "features")) == 6


def test_features_are_found_without_the_cache_of_the_platform(
    calls, tmp_path, monkeypatch
):
    (tmp_path / "twofold").write_text("not a folder")
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / name))
    found = NetworkFeatures(cache="auto").transform(photos())
    np.testing.assert_array_equal(found, NetworkFeatures().transform(photos()))
