"""Model files whose headers or arrays are forged by a stranger."""

import json
import os
import shutil

import numpy as np
import pytest
import safetensors
from model_forging import (
    NAME,
    assert_same_model,
    container,
    edit_arrays,
    edit_record,
    refused,
    split,
)

from twofold import TSNMF
from twofold.estimators import load_model, save_model


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """A folder with the file of ``model``, which no test may write to."""
    folder = tmp_path_factory.mktemp("saved")
    save_model(model, folder, about={"key": "X"})
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of the folder, to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


# Headers: the digest is right, as it does not cover them


def entry(dtype, shape, *offsets):
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def moved(by):
    def spoil(header, data):
        start, end = header["labels_"]["data_offsets"]
        header["labels_"]["data_offsets"] = [start + by, end + by]
        return header, data

    return spoil


def labelled(**change):
    def spoil(header, data):
        header["labels_"] |= change
        return header, data

    return spoil


def added(name, *fields):
    return lambda header, data: (header | {name: entry(*fields)}, data)


def with_text(old, new):
    return lambda header, data: (json.dumps(header).encode().replace(old, new), data)


HEADER = "Error while deserializing header"
DEEP = b'{"labels_": ' * 10**5


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (moved(8), HEADER),
        (moved(-8), HEADER),
        (moved(10**15), HEADER),
        (moved(-(10**6)), HEADER),
        (labelled(data_offsets=[0, 2**64]), HEADER),
        (labelled(data_offsets=[480, 0]), HEADER),
        (labelled(data_offsets=[0]), HEADER),
        (labelled(shape=[61]), HEADER),
        (labelled(shape=[10**12]), HEADER),
        (labelled(shape=[2**63, 2**63]), HEADER),
        (labelled(shape=[-60]), HEADER),
        (labelled(shape=[60.0]), HEADER),
        (labelled(shape=60), HEADER),
        (labelled(shape=[6, 10]), r"labels_ must be int64 of shape \(60,\), got .*10"),
        (labelled(shape=[1] * 99 + [60]), r"labels_ must be int64 of shape \(60,\)"),
        (labelled(dtype="F64"), "labels_ must be int64 .* got float64"),
        (labelled(dtype="U64"), "labels_ must be int64 .* got U64"),
        (labelled(dtype="I32", shape=[120]), "labels_ must be int64 .* got I32"),
        (labelled(dtype="BF16", shape=[240]), "labels_ must be int64 .* got BF16"),
        (labelled(dtype="BOOL", shape=[480]), "labels_ must be int64 .* got BOOL"),
        (labelled(dtype="object"), HEADER),
        (labelled(dtype=["I64"]), HEADER),
        (added("more", "I64", [0], 0, 0), r"nothing else, got \['more'\] missing or"),
        (added("more", "I64", [0, 2**60], 0, 0), r"nothing else, got \['more'\]"),
        (added("../more", "I64", [1], 0, 8), HEADER),
        (lambda header, data: ({}, b""), "got a file of another kind"),
        (lambda header, data: (b"no JSON", data), HEADER),
        (lambda header, data: (b"\xff\xfe{}", data), HEADER),
        (lambda header, data: (DEEP, data), HEADER),
        (with_text(b'"twofold": "', b'"twofold": "\\ud800'), HEADER),
        (with_text(b'"twofold": "', b'"twofold": ["'), HEADER),
        (with_text(b'"__metadata__": {', b'"__metadata__": [{'), HEADER),
    ],
)
def test_headers(copy, spoil, reason):
    header, data = split((copy / NAME).read_bytes())
    (copy / NAME).write_bytes(container(*spoil(header, data)))
    refused(copy, reason)


def test_a_name_that_is_there_twice(copy, model, images):
    """The later of two entries counts, and its content is checked as any other."""
    header, data = split((copy / NAME).read_bytes())
    double = b'{"labels_": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]}, '
    text = double + json.dumps(header).encode()[1:]
    (copy / NAME).write_bytes(container(text, data))
    assert_same_model(load_model(copy)[0], model, images)
    after = json.dumps(header).encode()[:-1] + b"," + double[1:-2] + b"}"
    (copy / NAME).write_bytes(container(after, data))
    refused(copy, "Error while deserializing header")


@pytest.mark.parametrize("length", [0, 7, 10**6, 2**26])
def test_headers_of_another_length_than_they_claim(copy, length):
    header, data = split((copy / NAME).read_bytes())
    (copy / NAME).write_bytes(container(header, data, length=length))
    refused(copy, "Error while deserializing header|got a part or another file")


def test_arrays_of_terabytes_that_are_not_there(copy):
    header, data = split((copy / NAME).read_bytes())
    header["labels_"] = entry("I64", [10**11], 0, 8 * 10**11)
    (copy / NAME).write_bytes(container(header, data))
    refused(copy, "Error while deserializing header")


def test_a_huge_array_in_a_sparse_file_is_not_read(copy):
    """The header agrees with the size of the file, but not with the other arrays."""
    header, data = split((copy / NAME).read_bytes())
    start, end = header["labels_"]["data_offsets"]
    more = 8 * 10**10
    for field in header.values():
        offsets = field.get("data_offsets")
        if offsets and offsets[0] >= end:
            field["data_offsets"] = [offset + more for offset in offsets]
    header["labels_"] = entry("I64", [60 + 10**10], start, end + more)
    (copy / NAME).write_bytes(container(header, data))
    os.truncate(copy / NAME, os.path.getsize(copy / NAME) + more)
    refused(copy, r"labels_ must be int64 of shape \(60,\), got .*10000000060")


def test_one_of_the_arrays_is_missing(copy):
    for name in ("labels_", "components_", "centers", "left.features"):
        before = (copy / NAME).read_bytes()
        edit_arrays(copy, **{name: None})
        refused(copy, rf"nothing else, got \['{name}'\] missing or in surplus")
        (copy / NAME).write_bytes(before)


# Arrays with a right digest

LABELS = np.arange(60) % 3
U = np.ones((3, 7, 6))


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("labels_", LABELS.astype(np.int32), "labels_ must be int64 .* got I32"),
        ("labels_", LABELS.astype(float), "labels_ must be int64 .* got float64"),
        ("labels_", LABELS[:, None], r"labels_ must be int64 of shape \(60,\), got"),
        ("labels_", LABELS[:59], r"labels_ must be int64 of shape \(60,\), got .*59"),
        ("labels_", LABELS[:0], r"labels_ must be int64 of shape \(60,\), got .*\(0,"),
        ("labels_", LABELS - 2, "labels_ must hold finite numbers from -1 to"),
        ("labels_", LABELS + 1, "labels_ must name 3 clusters, from 0 on"),
        ("labels_", LABELS * 2, "labels_ must name 3 clusters"),
        ("fitted_labels", LABELS % 2, "fitted_labels must name 3 clusters"),
        ("fitted_labels", LABELS - 1, "fitted_labels must hold finite .* from 0 to"),
        ("labels_", LABELS << 60, "labels_ must name 3 clusters"),
        ("fitted_labels", LABELS * 9, "fitted_labels must name 3 clusters"),
        ("components_", np.ones(3), "components_ must be .* of 2 to 4 axes, got .* 1"),
        ("components_", np.ones((3, 7, 6, 1, 1)), "components_ must be .* got .* of 5"),
        ("components_", np.array(1.0), "not enough values|components_ must be"),
        ("components_", np.ones((3, 6, 7)), r"left_projection_ must be .*\(6, "),
        ("components_", np.ones((4, 7, 6)), r"coefficients_ must be .*\(60, 4\), got"),
        ("components_", U.astype("f2"), "components_ must be float32 or float64"),
        ("components_", U.astype("f4"), "must be float32 of shape .* got float64"),
        ("components_", U * np.nan, "components_ must hold finite .* got nan to nan"),
        ("components_", U * np.inf, "components_ must hold finite .* got inf to inf"),
        ("coefficients_", np.full((60, 3), -1.0), "from 0 to .*, got -1.0"),
        ("coefficients_", np.ones((60, 3), "f4"), "coefficients_ must be float64"),
        ("fitted_coefficients", np.ones((60, 4)), r"must be .*\(60, 3\), got"),
        ("lengths", np.zeros((1, 3)), "lengths must hold finite .* got 0.0"),
        ("lengths", np.ones(3), r"lengths must be float64 of shape \(1, 3\), got"),
        ("centers", np.zeros((4, 3)), "fitted_labels must name 4 clusters"),
        ("centers", np.zeros((0, 3)), r"centers must not be empty, got shape \(0, 3\)"),
        ("centers", np.zeros((3, 4)), r"centers must be float64 of shape \(3, 3\)"),
        ("left.features", np.ones((60, 41)), "left.features must be float64 of shape"),
        ("left.centroid_features", np.ones((3, 1)), "left.centroid_features must be"),
        ("right.directions", np.ones((1, 6, 6)), "right.directions must be"),
        ("right_projection_", np.ones((5, 4)), "right_projection_ must be"),
        ("right.bandwidth", np.ones((2, 1)), r"right.bandwidth must be .*\(1, 1\)"),
        ("right.bandwidth", -np.ones((1, 1)), "right.bandwidth must hold finite"),
        ("objective_terms", np.ones((4, 99)), r"objective_terms must be .*, got .*99"),
        ("objective_terms", np.ones((3, 2)), "objective_terms must be float64"),
        ("init", np.ones((60, 4)), r"init must be float64 of shape \(60, 3\), got"),
        ("more", np.ones(3), r"nothing else, got \['more'\] missing or in surplus"),
    ],
)
def test_arrays_with_a_right_digest(copy, name, array, reason):
    edit_arrays(copy, **{name: array})
    refused(copy, reason)


def test_a_start_of_negative_numbers(copy):
    edit_record(copy, lambda record: record["parameters"].update(init=None))
    edit_arrays(copy, init=-np.ones((60, 3)))
    refused(copy, "init must hold finite numbers from 0")


def test_lengths_of_single_precision_must_be_positive(images, tmp_path):
    save_model(TSNMF(3, random_state=0).fit(images.astype(np.float32)), tmp_path)
    edit_arrays(tmp_path, lengths=np.zeros((1, 3), "f4"))
    refused(tmp_path, "lengths must hold finite .* got 0.0")


def test_the_library_is_the_one_that_checks_offsets():
    """Loading relies on these checks of safetensors."""
    one = {"a": entry("I64", [1], 0, 8), "b": entry("I64", [1], 4, 12)}
    for header, data in [(one, bytes(12)), ({"a": one["a"]}, bytes(16))]:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.deserialize(container(header, data))
