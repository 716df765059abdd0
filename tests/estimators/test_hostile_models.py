"""Model files that are damaged, or whose records are forged by a stranger."""

import json
import os
import shutil

import numpy as np
import pytest
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
    reason = r"other\.json: .*(header too small|another file); make it again"
    with pytest.raises(ValueError, match=reason):
        load_model(tmp_path / "other.json")


@pytest.mark.parametrize("size", [2**26 + 2**16 + 1, 2**63, 2**64 - 1])
def test_a_huge_header_is_not_read(copy, monkeypatch, size):
    def safe_open(*_, **__):
        raise AssertionError

    monkeypatch.setattr(model_files, "safe_open", safe_open)
    (copy / NAME).write_bytes(container({}, length=size))
    os.truncate(copy / NAME, 2**27)  # a hole, which takes no room on the disk
    claim = f"of at most 67,174,400 bytes, got a header of {size:,};"
    refused(copy, claim if size < 2**27 else "got a part or another file")


# Damage


@pytest.mark.parametrize(
    "spoil", [lambda c: c[:-100], lambda c: c[:100], lambda c: c + c[:100]]
)
def test_files_of_another_length(copy, spoil):
    (copy / NAME).write_bytes(spoil((copy / NAME).read_bytes()))
    refused(copy, "Error while deserializing header|got a part or another file")


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
        ("parameters.missing_values", [0], "'missing_values' parameter of TSNMF must"),
        ("parameters.missing_values", True, "missing_values must be a number .* True"),
        ("parameters.missing_values", 10**400, "missing_values must be a number or"),
        ("parameters.more", 1, "unexpected keyword argument 'more'"),
        ("parameters.self", 1, "multiple values for argument 'self'"),
        ("parameters.n_clusters", 0, "'n_clusters' parameter of TSNMF must be"),
        ("parameters.n_clusters", True, "n_clusters must be a positive integer"),
        ("parameters.n_clusters", {}, "Expected .*, got `object`"),
        ("parameters.n_directions", [1, 2, 3], "n_directions must be"),
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
    later = {"mapping", "alignment", "neighbor_recall", "assessment"}
    for name in read_record(copy)["fit"].keys() - later:
        before = (copy / NAME).read_bytes()
        edit_record(copy, lambda record, name=name: record["fit"].pop(name))
        refused(copy, f"missing required field `{name}`")
        (copy / NAME).write_bytes(before)


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


class AnyDigest(str):
    """A digest that equals any other."""

    __hash__ = str.__hash__

    def __ne__(self, other):
        return False


@settings(max_examples=300, deadline=None)
@given(edits=EDITS, part=st.sampled_from(["header", "record", "data"]))
def test_forgeries_give_a_whole_model_or_a_refusal(
    saved, tmp_path_factory, edits, part
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_files, "_digest", lambda *_: AnyDigest())
        loaded, reason = load_or_refusal(folder)
    shutil.rmtree(folder)
    if loaded is None:
        assert reason.startswith(f"{folder / NAME}: ")
        assert reason.endswith((AGAIN, "; upgrade twofold"))
    else:
        assert set(loaded.labels_) == {0, 1, 2}
        assert np.isfinite(loaded.components_).all()
