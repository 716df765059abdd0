"""Models in files that are damaged, or not what they claim to be."""

import hashlib
import json
import os
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_pairs import (
    AGAIN,
    assert_same_model,
    edit_record,
    edited,
    header,
    lies_about_size,
    members,
    npy,
    refused,
    same,
    shaped,
    write_npz,
    zipped,
)

from twofold import TSNMF
from twofold.estimators.model_files import load_model, save_model


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """A folder with the files of ``model``, which no test may write to."""
    folder = tmp_path_factory.mktemp("saved")
    save_model(model, folder, about={"key": "X"})
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    """The like to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_spoiling_by_the_helpers_alone_does_no_harm(copy, model, images):
    write_npz(copy, zipped(members(copy).items()))
    assert_same_model(load_model(copy)[0], model, images)


@pytest.mark.parametrize("name", ["model.json", "model.npz"])
def test_a_file_that_is_missing_or_none(copy, name):
    (copy / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name}: there is no such file; name"):
        load_model(copy)
    os.mkfifo(copy / name)
    refused(copy, name, "is no regular file")


def test_a_path_that_leads_to_no_model(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a folder with model"):
        load_model(tmp_path / "none")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match=r"other\.json: expected .* got another file"):
        load_model(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "must be JSON"),
        (b"\x80\x04\x95", "must be JSON"),
        (b'{"format": ', "must be JSON"),
        (b"[" * 10**5, "must be JSON, got what is not .maximum recursion"),
        (b'{"a": ' * 10**5, "must be JSON, got what is not .maximum recursion"),
        (b"9" * 5000, "must be JSON"),
        (b'{"about": NaN}', "must be JSON, got what is not .NaN is not finite"),
        (b'{"about": -1e999}', "must be JSON, got what is not .-1e999 is not finite"),
        (b"{}", "must be a twofold model, got JSON of another kind"),
        (b"[1, 2]", "must be a twofold model, got JSON of another kind"),
        (b"null", "must be a twofold model, got JSON of another kind"),
        (b'{"format": ["twofold model"]}', "got JSON of another kind"),
        (b'{"format": "twofold model"}', r"it must have the fields .* missing"),
        (b" " * (2**26 + 1), "must be of at most 67,108,864 bytes"),
    ],
)
def test_records_that_are_none(copy, content, reason):
    (copy / "model.json").write_bytes(content)
    refused(copy, "model.json", reason)


def test_a_record_of_a_newer_version(copy):
    content = {"format": "twofold model", "version": 4, "twofold": "9.1", "more": 1}
    (copy / "model.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"newer twofold, '9\.1',.*; upgrade twofold$"):
        load_model(copy)


HUGE = 10**4000


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("version", 0, "version must be 1, 2 or 3, got 0"),
        ("version", True, "version must be 1, 2 or 3, got True"),
        ("version", "2", "version must be 1, 2 or 3, got '2'"),
        ("twofold", None, "twofold must be a string"),
        ("sha256", 5, "sha256 must be a string"),
        ("about", [], "about must be an object"),
        ("parameters", 3, "parameters must be an object"),
        ("fit", "x" * 10**6, "fit must be an object"),
        ("more", 1, "'more'. missing or in surplus"),
        ("fit.more", 1, "fit must have the fields .*'more'. missing or in surplus"),
        ("fit.n_samples", 0, "n_samples must be an integer"),
        ("fit.n_samples", -3, "n_samples must be an integer"),
        ("fit.n_samples", 60.0, "n_samples must be an integer"),
        ("fit.n_samples", True, "n_samples must be an integer"),
        ("fit.n_samples", HUGE, "n_samples must be an integer"),
        ("fit.n_samples", 2, "must not fall, got 3, 3, 2"),
        ("fit.n_clusters", None, "n_clusters must be an integer"),
        ("fit.n_found", 4, "must not fall, got 4, 3, 60"),
        ("fit.n_iter", [2], "n_iter must be an integer"),
        ("fit.n_directions", 2, "n_directions must be two sizes"),
        ("fit.n_directions", [2], "n_directions must be two sizes"),
        ("fit.n_directions", [2, "2"], "n_directions must be two sizes"),
        ("fit.sample_shape", [], "sample_shape must be one to three sizes"),
        ("fit.sample_shape", [7, 6, 1, 1], "sample_shape must be one to three sizes"),
        ("fit.sample_shape", [7, -6], "sample_shape must be one to three sizes"),
        ("fit.sample_shape", {"7": 6}, "sample_shape must be one to three sizes"),
        ("fit.scale", "auto", "scale must be one of"),
        ("fit.graph", ["heat"], "graph must be one of"),
        ("fit.feature_names", "abc", "feature_names must be a list of strings"),
        ("fit.feature_names", [1] * 42, "feature_names must be a list of strings"),
        ("fit.feature_names", ["a"], "feature_names must be 42 .* got 1"),
        ("fit.completion", 3, "completion must be two sizes, or null, got 3"),
        ("fit.completion", [3], "completion must be two sizes, or null"),
        ("fit.completion", [3, 0], "completion must be two sizes, or null"),
        ("fit.completion", [3, HUGE], "completion must be two sizes, or null"),
        ("fit.completion", {"a": 3, "b": 3}, "completion must be two sizes, or null"),
        ("parameters.missing_values", "0", "'missing_values' parameter of TSNMF must"),
        ("parameters.missing_values", "NaN", "'missing_values' parameter of TSNMF"),
        ("parameters.missing_values", [0], "'missing_values' parameter of TSNMF must"),
        ("parameters.missing_values", True, "missing_values must be a number .* True"),
        ("parameters.missing_values", 10**400, "missing_values must be a number or"),
        ("parameters.more", 1, "parameters must have the fields .*'more'. missing"),
        ("parameters.n_clusters", 0, "'n_clusters' parameter of TSNMF must be"),
        ("parameters.n_clusters", True, "n_clusters must be a positive integer"),
        ("parameters.n_clusters", {}, "'n_clusters' parameter of TSNMF must be"),
        ("parameters.max_iter", -HUGE, "'max_iter' parameter of TSNMF must be"),
        ("parameters.n_directions", [1, 2, 3], "n_directions must be"),
        ("parameters.n_directions", [[1], 2], "n_directions must be"),
        ("parameters.sample_shape", ["a"], "sample_shape must be one to three sizes"),
        ("parameters.graph", "warm", "'graph' parameter of TSNMF must be"),
        ("parameters.graph", "x" * 10**6, "'graph' parameter of TSNMF must be"),
        ("parameters.init", [[1, 2]], "init must be a string"),
        ("parameters.init", "", "'init' parameter of TSNMF must be"),
        ("parameters.random_state", -1, "'random_state' parameter of TSNMF must be"),
        ("parameters.tol", "small", "'tol' parameter of TSNMF must be"),
        ("parameters.assign_labels", 1, "'assign_labels' parameter of TSNMF must be"),
        ("fit.reading", "tea", "reading must be one of .*, got 'tea'"),
        ("fit.reading", ["graph"], "reading must be one of"),
        ("fit.reading", None, "reading must be one of"),
    ],
)
def test_records_of_wrong_fields(copy, place, value, reason):
    def spoil(record):
        *outer, name = place.split(".")
        (record[outer[0]] if outer else record)[name] = value

    edit_record(copy, spoil)
    refused(copy, "model.json", reason)


@pytest.mark.parametrize("name", ["fit", "parameters", "about", "sha256"])
def test_records_that_lack_a_field(copy, name):
    edit_record(copy, lambda record: record.pop(name))
    refused(copy, "model.json", f"'{name}'. missing or in surplus")


@pytest.mark.parametrize(
    "spoil", [lambda c: c[:-100], lambda c: b"", lambda c: c + c[:100]]
)
def test_arrays_that_were_damaged(copy, spoil):
    path = copy / "model.npz"
    path.write_bytes(spoil(path.read_bytes()))
    refused(copy, "model.npz", "got another or a damaged one .its SHA-256 differs")


@pytest.mark.parametrize("surplus", [2**15, 2 * 10**11])
def test_arrays_of_too_many_bytes_are_not_read(copy, monkeypatch, surplus):
    def file_digest(*_):
        raise AssertionError

    size = os.path.getsize(copy / "model.npz")
    os.truncate(copy / "model.npz", size + surplus)  # a hole, which takes no room
    monkeypatch.setattr(hashlib, "file_digest", file_digest)
    refused(copy, "model.npz", f"must be of at most .* bytes, got {size + surplus:,};")


def test_arrays_of_another_model(copy, images):
    before = (copy / "model.json").read_bytes()
    save_model(TSNMF(3, random_state=1).fit(images[::2]), copy)
    (copy / "model.json").write_bytes(before)
    refused(copy, "model.npz", "must be the file that was written with model.json")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda entries: b"no zip at all",
            "must be a whole .npz file .File is not a zip file",
        ),
        (lambda entries: b"", "must be a whole .npz file .File is not a zip file"),
        (
            lambda entries: zipped(entries)[:-30],
            "must be a whole .npz file .File is not a zip file",
        ),
        (lambda entries: zipped(entries)[200:], "must be a whole .npz file"),
        (lambda entries: zipped(entries, zipfile.ZIP_DEFLATED), "not be compressed"),
        (lambda entries: zipped(entries, zipfile.ZIP_LZMA), "not be compressed"),
        (lambda entries: lies_about_size(zipped(entries)), "bytes by its directory"),
        (lambda entries: zipped(entries[1:]), r"once and nothing else, got \['labels"),
        (lambda entries: zipped([]), "once and nothing else"),
        (
            lambda entries: zipped([*entries, ("../more.npy", b"")]),
            r"nothing else, got \['../more.npy'\] too often",
        ),
    ],
)
def test_containers_with_a_right_digest(copy, spoil, reason):
    write_npz(copy, spoil(list(members(copy).items())))
    refused(copy, "model.npz", reason)


def test_a_member_that_is_there_twice(copy):
    entries = list(members(copy).items())
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([*entries, entries[0]])
    write_npz(copy, content)
    refused(copy, "model.npz", r"got \['labels.npy'\] too often")


LABELS = np.arange(60) % 3


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("labels", b"", "labels must be a plain .npy array"),
        ("labels", b"pickle", "labels must be a plain .npy array"),
        ("labels", npy(LABELS)[:60], "labels must be a plain .npy array"),
        ("labels", npy(LABELS)[:-8], "labels must have 480 bytes, got 472"),
        ("labels", npy(LABELS) + b"more", "labels must have 480 bytes, got 484"),
        (
            "labels",
            npy(LABELS, version=(2, 0)),
            r"of version \(2, 0\) and not \(1, 0\)",
        ),
        ("labels", shaped("(1000000000000,)"), r"labels must be <i8 of shape \(60,\)"),
        ("labels", shaped("(60,)"), "labels must have 480 bytes, got 0"),
        ("labels", shaped("(-60,)"), r"labels must be <i8 of shape \(60,\)"),
        ("labels", shaped("(0, 9223372036854775807)"), "labels must be <i8 of shape"),
        ("labels", shaped("60"), "a plain .npy array .shape is not valid"),
        ("labels", shaped("(60,)", "'|O'"), r"labels must be <i8 .* got \|O"),
        (
            "labels",
            shaped("(60,)", "[('a', '<i8')]"),
            r"labels must be <i8 .* got \|V8",
        ),
        ("labels", shaped("(60,)", "'nonsense'"), "labels must be a plain .npy array"),
        ("labels", header("-" * 200 + "1"), "labels must be a plain .npy array"),
        ("labels", header("(" * 20000), "Header info length"),
        (
            "labels",
            header("__import__('os').abort()"),
            "labels must be a plain .npy array",
        ),
        ("labels", npy(LABELS.astype(np.int32)), "labels must be <i8 .* got <i4"),
        ("labels", npy(LABELS.astype(">i8")), "labels must be <i8 .* got >i8"),
        ("labels", npy(LABELS.astype(float)), "labels must be <i8 .* got <f8"),
        ("labels", npy(LABELS.astype(object)), r"labels must be <i8 .* got \|O"),
        ("labels", npy(LABELS - 1), "labels must hold finite numbers from 0 to 2, got"),
        ("labels", npy(LABELS + 1), "labels must hold finite numbers from 0 to 2, got"),
        ("labels", npy(LABELS % 2), "labels must name 3 clusters, got 2"),
        ("fitted_labels", npy(LABELS * 9), "fitted_labels must hold finite numbers"),
        ("components", npy(np.ones((3, 6, 7))), r"components must be .*\(3, 7, 6\)"),
        ("components", npy(np.ones((3, 7, 6), "f2")), "components must be <f4 or <f8"),
        ("components", npy(np.full((3, 7, 6), np.nan)), "got nan to nan"),
        ("components", npy(np.full((3, 7, 6), np.inf)), "got inf to inf"),
        ("coefficients", npy(np.full((60, 3), -1.0)), "from 0 to inf, got -1.0"),
        ("lengths", npy(np.zeros((1, 3), "f4")), "lengths must hold finite .* got 0.0"),
        ("centers", npy(np.zeros((4, 3))), r"centers must be .*\(3, 3\), got"),
        ("typical_norm", npy(np.array(0.0)), "typical_norm must hold finite numbers"),
        ("graph_weight", npy(np.array([1.0])), r"graph_weight must be <f8 of shape \("),
        ("graph_weight", npy(np.array(-1.0)), "graph_weight must hold finite numbers"),
        ("n_neighbors", npy(np.array(0)), "n_neighbors must hold .* from 1 to 60"),
        ("n_neighbors", npy(np.array(61)), "n_neighbors must hold .* from 1 to 60"),
        ("left_features", npy(np.ones((60, 41))), "left_features must be"),
        ("right_directions", npy(np.ones((1, 6, 6))), "right_directions must be"),
        ("right_bandwidth", npy(np.ones((2, 1))), "right_bandwidth must be"),
        ("objective_energy", npy(np.ones(3)), "objective_energy must be <f8 of shape"),
    ],
)
def test_arrays_with_a_right_digest(copy, name, data, reason):
    write_npz(copy, zipped((members(copy) | {f"{name}.npy": data}).items()))
    refused(copy, "model.npz", reason)


def test_sizes_and_a_header_that_agree_on_too_much(copy):
    """Nothing of the terabytes that both files speak of is allocated."""
    n = 10**11
    edit_record(copy, lambda record: record["fit"].update(n_samples=n))
    entries = members(copy) | {"labels.npy": shaped(f"({n},)")}
    write_npz(copy, zipped(entries.items()))
    refused(copy, "model.npz", "labels must have 800,000,000,000 bytes, got 0")


EDITS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4
)


def load_or_refusal(folder):
    """The model, or None and why there is none."""
    try:
        return load_model(folder)[0], ""
    except (ValueError, OSError) as error:
        return None, str(error)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(["model.json", "model.npz"]),
    edits=EDITS,
    kept=st.just(1.0) | st.floats(0, 1),
)
def test_accidents_are_found_or_do_no_harm(
    saved, model, images, tmp_path_factory, name, edits, kept
):
    folder = tmp_path_factory.getbasetemp() / "accidents"
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    content = (saved / name).read_bytes()
    spoiled = edited(content, edits, kept)
    (folder / name).write_bytes(spoiled)
    loaded, reason = load_or_refusal(folder)
    if loaded is None:
        assert spoiled != content
        assert reason.startswith(f"{folder / name}: ") or name == "model.json"
        assert "\n" not in reason
    else:
        assert spoiled == content or name == "model.json"
        same(loaded.predict(images[:5]), model.predict(images[:5]))


@settings(max_examples=200, deadline=None)
@given(edits=EDITS, kept=st.just(1.0) | st.floats(0, 1))
def test_a_right_digest_of_anything_gives_a_whole_model_or_a_refusal(
    saved, tmp_path_factory, edits, kept
):
    folder = tmp_path_factory.getbasetemp() / "forgeries"
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    write_npz(folder, edited((saved / "model.npz").read_bytes(), edits, kept))
    loaded, reason = load_or_refusal(folder)
    if loaded is None:
        assert reason.startswith(f"{folder / 'model.npz'}: ")
        assert reason.endswith(AGAIN)
    else:
        assert set(loaded.labels_) == {0, 1, 2}
        assert np.isfinite(loaded.components_).all()
