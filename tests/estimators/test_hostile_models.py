"""Model files that are damaged, or forged by a stranger."""

import json
import os
import shutil

import numpy as np
import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st
from model_forging import (
    AGAIN,
    NAME,
    assert_same_model,
    container,
    edit_arrays,
    edit_record,
    edited,
    read_record,
    read_text,
    refused,
    same,
    split,
    write_text,
)

from twofold import TSNMF
from twofold.estimators import load_model, model_files, save_model


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


def test_the_helpers_alone_do_no_harm(copy, model, images):
    edit_record(copy, lambda record: None)
    edit_arrays(copy)
    content = container(*split((copy / NAME).read_bytes()))
    (copy / NAME).write_bytes(content)
    assert_same_model(load_model(copy)[0], model, images)


# Files


def test_a_file_that_is_missing_or_no_regular_file(copy):
    (copy / NAME).unlink()
    for path in (copy, copy / NAME, copy / "none", copy / "model.npz"):
        with pytest.raises(FileNotFoundError, match=": there is no such file; name a"):
            load_model(path)
    os.mkfifo(copy / NAME)
    refused(copy, "is no regular file")
    (copy / NAME).unlink()
    (copy / NAME).mkdir()
    refused(copy, "is no regular file")


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80\x04\x95", b"PK\x03\x04" * 99])
def test_a_file_of_another_kind(tmp_path, content):
    (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.json: .*header.*; make it again"):
        load_model(tmp_path / "other.json")


@pytest.mark.parametrize("size", [2**26 + 2**16 + 1, 2**63, 2**64 - 1])
def test_a_huge_header_is_not_read(copy, monkeypatch, size):
    def safe_open(*_, **__):
        raise AssertionError

    monkeypatch.setattr(model_files, "safe_open", safe_open)
    (copy / NAME).write_bytes(container({}, length=size))
    os.truncate(copy / NAME, 2**27)  # a hole, which takes no room on the disk
    refused(copy, f"of at most 67,174,400 bytes, got .* a header of {size:,};")


# Damage


@pytest.mark.parametrize(
    "spoil", [lambda c: c[:-100], lambda c: c[:100], lambda c: c + c[:100]]
)
def test_files_of_another_length(copy, spoil):
    (copy / NAME).write_bytes(spoil((copy / NAME).read_bytes()))
    refused(copy, "Error while deserializing header")


def test_surplus_bytes_are_not_read(copy):
    os.truncate(copy / NAME, 2 * 10**11)  # a hole, which takes no room on the disk
    refused(copy, "Error while deserializing header")


def test_an_array_that_was_damaged(copy):
    content = bytearray((copy / NAME).read_bytes())
    content[-1] ^= 1
    (copy / NAME).write_bytes(content)
    refused(copy, r"must be as it was written, but is damaged .SHA-256 differs")


@pytest.mark.parametrize("edit", [("title", "titlf"), ("1.0", "1.5"), ("null", "true")])
def test_a_record_that_was_damaged(copy, edit):
    edit_record(copy, lambda record: record["about"].update(title=1.0, none=None))
    text = read_text(copy)
    head, about = text.split('"about"')
    write_text(copy, head + '"about"' + about.replace(*edit))
    refused(copy, r"must be as it was written, but is damaged .SHA-256 differs")


def test_the_arrays_of_another_model(copy, images):
    before = read_text(copy)
    save_model(TSNMF(3, random_state=1).fit(images[::-1]), copy)
    write_text(copy, before)
    refused(copy, "SHA-256 differs")


# Records


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ('{"format": ', "Expecting value"),
        ("[" * 10**5, "maximum recursion"),
        ('{"a": ' * 10**5, "maximum recursion"),
        ("9" * 5000, "Exceeds the limit"),
        ("{}", "must be a twofold model, got a file of another kind"),
        ("[1, 2]", "must be a twofold model, got a file of another kind"),
        ("null", "must be a twofold model, got a file of another kind"),
        ('"\\ud800"', "must be a twofold model, got a file of another kind"),
        ('{"format": ["twofold model"]}', "got a file of another kind"),
        ('{"format": "twofold model"}', "missing required field `version`"),
        ('{"format": "twofold model", "format": 1}', "got a file of another kind"),
    ],
)
def test_records_that_are_none(copy, text, reason):
    write_text(copy, text)
    refused(copy, reason)


@pytest.mark.parametrize("metadata", [None, {}, {"other": "1"}])
def test_arrays_without_a_record(copy, metadata):
    header, data = split((copy / NAME).read_bytes())
    header["__metadata__"] = metadata
    (copy / NAME).write_bytes(container(header, data))
    refused(copy, "must be a twofold model, got a file of another kind")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("field", ['"key":"X"', '"tol":0.05', '"typical_norm":'])
def test_numbers_that_are_not_finite(copy, number, field):
    text = read_text(copy)
    assert field in text
    end = text.index(",", text.index(field)) if field.endswith(":") else None
    old = field if end is None else text[text.index(field) : end]
    write_text(copy, text.replace(old, f"{field.partition(':')[0]}:{number}"))
    refused(copy, "not JSON compliant|Expected `float`")


def test_a_record_of_a_newer_version(copy):
    record = {"format": "twofold model", "version": 2, "twofold": "9.1", "more": 1}
    write_text(copy, json.dumps(record))
    with pytest.raises(ValueError, match=r"newer twofold, '9\.1',.*; upgrade twofold$"):
        load_model(copy)


HUGE = 10**4000


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("version", 0, r"Invalid enum value 0 - at `\$.version`"),
        ("version", True, "Expected `int`, got `bool`"),
        ("version", "1", "Expected `int`, got `str`"),
        ("twofold", None, r"Expected `str`, got `null` - at `\$.twofold`"),
        ("sha256", 5, r"Expected `str`, got `int` - at `\$.sha256`"),
        ("about", [], r"Expected `object`, got `array` - at `\$.about`"),
        ("parameters", 3, r"Expected `object`, got `int` - at `\$.parameters`"),
        ("fit", "x" * 10**6, r"Expected `object`, got `str` - at `\$.fit`"),
        ("more", 1, "unknown field `more`"),
        ("x" * 10**6, 1, "unknown field `x"),
        ("fit.more", 1, r"unknown field `more` - at `\$.fit`"),
        ("fit.scale", "auto", r"Invalid enum value 'auto' - at `\$.fit.scale`"),
        ("fit.scale", ["sample"], r"Expected `str`, got `array` - at `\$.fit.scale`"),
        ("fit.graph", ["heat"], r"Expected `str`, got `array` - at `\$.fit.graph`"),
        ("fit.graph", "warm", r"graph must be one of .*, got 'warm' - at `\$.fit`"),
        ("fit.assign_labels", "tea", r"Invalid enum value 'tea'"),
        ("fit.assign_labels", None, "Expected `str`, got `null`"),
        ("fit.feature_names", "abc", "Expected `array | null`, got `str`"),
        ("fit.feature_names", [1] * 42, "Expected `str`, got `int`"),
        ("fit.feature_names", ["a"], "feature_names must be 42, got 1"),
        ("fit.n_neighbors", 0, r"Expected `int` >= 1 - at `\$.fit.n_neighbors`"),
        ("fit.n_neighbors", 5.0, "Expected `int`, got `float`"),
        ("fit.n_neighbors", True, "Expected `int`, got `bool`"),
        ("fit.n_neighbors", -HUGE, "Expected `int` >= 1"),
        ("fit.typical_norm", 0, "Expected `float` > 0.0"),
        ("fit.typical_norm", -1.5, "Expected `float` > 0.0"),
        ("fit.typical_norm", HUGE, "out of range"),
        ("fit.typical_norm", "1", "Expected `float`, got `str`"),
        ("fit.weights", [1.0, 1.0], "Expected `object`, got `array`"),
        ("fit.weights", {"graph_weight": -1}, "Expected `float` >= 0.0"),
        ("fit.weights", {"graph_weight": None}, "Expected `float`, got `null`"),
        ("fit.weights", {"more": 1.0}, r"weights must be of .*, got \['more'\]"),
        ("fit.terms", ["energy"], r"objective_terms must be float64 of shape \(1, "),
        ("fit.terms", [1, 2, 3, 4], "Expected `str`, got `int`"),
        ("fit.terms", 4, "Expected `array`, got `int`"),
        ("parameters.missing_values", "zero", "could not convert string to float"),
        ("parameters.missing_values", [0], "must be a string or a real number"),
        ("parameters.missing_values", 10**400, "int too large to convert to float"),
        ("parameters.more", 1, "unexpected keyword argument 'more'"),
        ("parameters.self", 1, "multiple values for argument 'self'"),
        ("parameters.n_clusters", 0, "'n_clusters' parameter of TSNMF must be"),
        ("parameters.n_clusters", {}, "Expected .*, got `object`"),
        ("parameters.n_directions", [[1], 2], "Expected `int`, got `array`"),
        ("parameters.sample_shape", ["a"], "Expected `int`, got `str`"),
        ("parameters.max_iter", -HUGE, "'max_iter' parameter of TSNMF must be"),
        ("parameters.graph", "warm", "'graph' parameter of TSNMF must be"),
        ("parameters.graph", "x" * 10**6, "'graph' parameter of TSNMF must be"),
        ("parameters.init", [[1, 2]], "Expected `int`, got `array`"),
        ("parameters.init", "", "'init' parameter of TSNMF must be"),
        ("parameters.init", None, "'init' parameter of TSNMF .* Got None"),
        ("fit.column_major", ["labels"], "'labels'"),
        ("fit.column_major", "labels_", "Expected `array`, got `str`"),
        ("parameters.random_state", -1, "'random_state' parameter of TSNMF must be"),
        ("parameters.tol", "small", "'tol' parameter of TSNMF must be"),
        ("parameters.assign_labels", 1, "'assign_labels' parameter of TSNMF must be"),
    ],
)
def test_records_of_wrong_fields(copy, place, value, reason):
    def spoil(record):
        *outer, name = place.split(".")
        (record[outer[0]] if outer else record)[name] = value

    edit_record(copy, spoil)
    refused(copy, reason)


@pytest.mark.parametrize("name", ["fit", "parameters", "about", "sha256"])
def test_records_that_lack_a_field(copy, name):
    edit_record(copy, lambda record: record.pop(name))
    refused(copy, f"missing required field `{name}`")


def test_facts_that_lack_a_field(copy):
    for name in read_record(copy)["fit"]:
        before = (copy / NAME).read_bytes()
        edit_record(copy, lambda record, name=name: record["fit"].pop(name))
        refused(copy, f"missing required field `{name}`")
        (copy / NAME).write_bytes(before)


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
    refused(copy, "Error while deserializing header")


def test_arrays_of_terabytes_that_are_not_there(copy):
    header, data = split((copy / NAME).read_bytes())
    header["labels_"] = entry("I64", [10**11], 0, 8 * 10**11)
    (copy / NAME).write_bytes(container(header, data))
    refused(copy, "Error while deserializing header")


def test_a_huge_array_in_a_sparse_file_is_not_read(copy, monkeypatch):
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
        ("labels_", LABELS - 1, "labels_ must hold finite numbers from 0 to"),
        ("labels_", LABELS + 1, "labels_ must name 3 clusters, from 0 on"),
        ("labels_", LABELS % 2, "labels_ must name 3 clusters"),
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
        ("centers", np.zeros((4, 3)), "labels_ must name 4 clusters"),
        ("centers", np.zeros((0, 3)), "zero-size array"),
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


# Any change

EDITS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4
)
KEPT = st.just(1.0) | st.floats(0, 1)


def load_or_refusal(folder):
    """Return the model and no reason, or None and the reason."""
    try:
        return load_model(folder)[0], ""
    except ValueError as error:
        return None, str(error)


@settings(max_examples=300, deadline=None)
@given(edits=EDITS, kept=KEPT)
def test_accidents_are_found_or_do_no_harm(
    saved, model, images, tmp_path_factory, edits, kept
):
    folder = tmp_path_factory.mktemp("accidents", numbered=True)
    content = (saved / NAME).read_bytes()
    spoiled = edited(content, edits, kept)
    (folder / NAME).write_bytes(spoiled)
    loaded, reason = load_or_refusal(folder)
    shutil.rmtree(folder)
    if loaded is None:
        assert spoiled != content
        assert reason.startswith(f"{folder / NAME}: ")
        assert "\n" not in reason
    else:
        same(loaded.predict(images[:5]), model.predict(images[:5]))


@settings(max_examples=300, deadline=None)
@given(edits=EDITS, part=st.sampled_from(["header", "record", "data"]))
def test_forgeries_give_a_whole_model_or_a_refusal(
    saved, monkeypatch_module, tmp_path_factory, edits, part
):
    """The digest of any content is right here."""
    header, data = split((saved / NAME).read_bytes())
    text = json.dumps(header).encode()
    if part == "data":
        data = edited(data, edits, 1)
    elif part == "header":
        text = edited(text, edits, 1)
    else:
        record = edited(header["__metadata__"]["twofold"].encode(), edits, 1)
        header["__metadata__"]["twofold"] = record.decode("utf-8", "replace")
        text = json.dumps(header).encode()
    folder = tmp_path_factory.mktemp("forgeries", numbered=True)
    (folder / NAME).write_bytes(container(text, data))
    loaded, reason = load_or_refusal(folder)
    shutil.rmtree(folder)
    if loaded is None:
        assert reason.startswith(f"{folder / NAME}: ")
        assert reason.endswith((AGAIN, "; upgrade twofold"))
    else:
        assert set(loaded.labels_) == {0, 1, 2}
        assert np.isfinite(loaded.components_).all()


class AnyDigest(str):
    """A digest that equals any other."""

    __hash__ = str.__hash__

    def __ne__(self, other):
        return False


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_files, "_digest", lambda *_: AnyDigest())
        yield patch


def test_the_library_is_the_one_that_checks_offsets():
    """Loading relies on these checks of safetensors."""
    one = {"a": entry("I64", [1], 0, 8), "b": entry("I64", [1], 4, 12)}
    for header, data in [(one, bytes(12)), ({"a": one["a"]}, bytes(16))]:
        with pytest.raises(safetensors.SafetensorError):
            safetensors.deserialize(container(header, data))
