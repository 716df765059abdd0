"""Tables and sorted files, with names of every kind, and where they may go."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from small_photos import ODD_NAMES

from twofold.app.outputs import (
    COLUMNS,
    FILES,
    assignment_rows,
    check_apart,
    check_folder,
    open_table,
    save_csv,
    sort_files,
    write_csv,
    write_json_lines,
)
from twofold.app.results import Assignments
from twofold.io import from_cell

# Where results may go


def earlier_run(folder, without=()):
    folder.mkdir()
    for name in FILES:
        if name == "clusters":
            (folder / name).mkdir()
        elif name not in without:
            (folder / name).write_text("old")
    if "model.safetensors" not in without:
        record = {"twofold": '{"format":"twofold model"}'}
        save_file({"a": np.ones(3)}, folder / "model.safetensors", metadata=record)
    return folder


@pytest.mark.parametrize("force", [False, True])
def test_what_is_not_there_or_empty_may_be_written(tmp_path, force):
    check_folder(tmp_path / "none", force=force)
    check_folder(tmp_path / "none/in/none", force=force)
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty", force=force)


def test_an_earlier_run_is_replaced_by_force_alone(tmp_path):
    folder = earlier_run(tmp_path / "out")
    with pytest.raises(FileExistsError, match=r"not empty; .* replace .* with --force"):
        check_folder(folder, force=False)
    check_folder(folder, force=True)
    (folder / "clusters").rmdir()
    check_folder(folder, force=True)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "report.html.bak", "Model"])
def test_surplus_files_are_never_removed(tmp_path, force, name):
    folder = earlier_run(tmp_path / "out")
    (folder / name).write_text("the user's")
    with pytest.raises(FileExistsError):
        check_folder(folder, force=force)


def test_a_model_of_something_else_is_not_replaced(tmp_path):
    folder = earlier_run(tmp_path / "out")
    save_file({"mine": np.ones(3)}, folder / "model.safetensors")
    with pytest.raises(FileExistsError, match=r"has no model.safetensors of twofold"):
        check_folder(folder, force=True)


def test_sorted_files_may_go_and_no_others(tmp_path):
    folder = earlier_run(tmp_path / "out")
    inside = folder / "clusters" / "0"
    inside.mkdir()
    (tmp_path / "a.png").write_text("one")
    placed = sort_files(inside.parent, [tmp_path / "a.png"], np.array([0]), "copy")
    save_csv(folder / "sorted.csv", ("path", "file"), placed)
    check_folder(folder, force=True)
    (inside / "thesis.txt").write_text("the user's")
    with pytest.raises(FileExistsError, match=r"has clusters/0/thesis.txt: "):
        check_folder(folder, force=True)


def test_what_a_killed_run_left_does_not_matter(tmp_path):
    folder = earlier_run(tmp_path / "out")
    (folder / ".report.html.partial-x").mkdir()
    check_folder(folder, force=True)


@pytest.mark.parametrize("name", ["file/out", "n" * 250, "n" * 300])
def test_what_cannot_be_written_is_said_early(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot be written: .*; name another folder"):
        check_folder(tmp_path / name, force=False)
    assert os.listdir(tmp_path) == ["file"]


def test_what_file_managers_leave_behind_does_not_matter(tmp_path):
    folder = earlier_run(tmp_path / "out")
    (folder / ".DS_Store").touch()
    check_folder(folder, force=True)


def test_the_first_surplus_file_is_named(tmp_path):
    folder = earlier_run(tmp_path / "out")
    (folder / "notes.txt").write_text("")
    with pytest.raises(FileExistsError, match=r"has notes.txt: .* does not replace it"):
        check_folder(folder, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_foreign_folders_and_files_are_refused(tmp_path, force):
    folder = earlier_run(tmp_path / "out", without=["model.safetensors"])
    with pytest.raises(FileExistsError):
        check_folder(folder, force=force)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        check_folder(tmp_path / "file", force=force)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("out", [".", "", "..", "../here"])
def test_the_working_folder_is_not_pulled_from_under_the_user(
    tmp_path, monkeypatch, force, out
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FileExistsError, match="is the folder that you are in"):
        check_folder(Path(out), force=force)


# Apart from the input


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with photos/1.png and links, which is also the working one."""
    (tmp_path / "photos/inner").mkdir(parents=True)
    (tmp_path / "photos/1.png").write_bytes(b"")
    (tmp_path / "out/clusters").mkdir(parents=True)
    (tmp_path / "out/clusters/1.png").symlink_to(tmp_path / "photos/1.png")
    (tmp_path / "to-photos").symlink_to("photos")
    (tmp_path / "to-out").symlink_to(tmp_path / "out")
    (tmp_path / "to-place").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("photos", "photos"),
        ("photos/1.png", "photos"),
        ("photos/inner/..", "photos"),
        ("photos/../photos/1.png", "./photos"),
        ("photos", "."),
        ("to-photos", "photos"),
        ("photos", "to-photos"),
        ("to-photos/1.png", "photos"),
        ("to-place/photos/1.png", "photos"),
        ("out/clusters/1.png", "out"),  # though what it links to is elsewhere
        ("to-place/out/clusters/1.png", "out"),
        ("to-place/out/clusters/1.png", "to-out"),
        ("out/clusters", "to-out"),
    ],
)
def test_the_input_must_not_be_in_the_output(place, source, out):
    for start in (Path(), place):
        with pytest.raises(ValueError, match=r"must not hold the input, and .* is in"):
            check_apart([Path("elsewhere"), start / source], start / out)


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("photos", "photos/out"),
        ("photos", "photos/inner/../out"),
        ("to-photos", "photos/out"),
        ("photos", "to-photos/out"),
        (".", "out"),
        ("photos/..", "to-out"),
    ],
)
def test_the_output_must_not_be_in_the_input(place, source, out):
    for start in (Path(), place):
        with pytest.raises(ValueError, match="must be outside of the input"):
            check_apart([start / source], start / out)


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("photos", "photos2"),
        ("photos", "out"),
        ("photos", "photos/../photos-out"),
        ("photos/1.png", "photos/out"),  # beside a single file
        ("photos/inner", "photos/out"),
        ("none/1.png", "out"),
    ],
)
def test_input_and_output_beside_each_other(place, source, out):
    for start in (Path(), place):
        check_apart([start / source], start / out)


# Tables


def assignments(n=3, outlier=None):
    rng = np.random.default_rng(0)
    return Assignments(
        coefficients=rng.uniform(size=(n, 2)),
        clusters=np.arange(n) % 2,
        confidence=rng.uniform(size=n).astype(np.float32),
        reconstruction_error=rng.uniform(size=n) * 1e-7,
        outlier=np.arange(n) == outlier,
    )


def test_rows_have_six_digits_and_plain_values():
    found = assignments()
    rows = list(assignment_rows("abc", found, "xyz"))
    assert [len(row) for row in rows] == [len(COLUMNS)] * 3
    for i, (name, cluster, confidence, error, nearest) in enumerate(rows):
        assert (name, cluster, nearest) == ("abc"[i], i % 2, "xyz"[i])
        assert type(cluster) is int
        assert type(confidence) is type(error) is float
        assert confidence == pytest.approx(float(found.confidence[i]), rel=5e-6)
        assert error == pytest.approx(float(found.reconstruction_error[i]), rel=5e-6)
        assert len(repr(confidence).lstrip("0.")) <= 6


def test_a_sample_that_belongs_nowhere_has_the_cluster_minus_one():
    rows = list(assignment_rows("abc", assignments(outlier=1), "xyz"))
    assert [row[1] for row in rows] == [0, -1, 0]
    assert [type(row[1]) for row in rows] == [int] * 3


@pytest.mark.parametrize("count", [2, 4])
def test_names_of_another_number_are_an_error(count):
    with pytest.raises(ValueError, match="argument"):
        list(assignment_rows(["a"] * count, assignments(), "xyz"))


def test_odd_names_come_back_from_the_table(tmp_path):
    n = len(ODD_NAMES)
    rows = list(assignment_rows(ODD_NAMES, assignments(n), reversed(ODD_NAMES)))
    save_csv(tmp_path / "a.csv", COLUMNS, rows)
    with (tmp_path / "a.csv").open(
        newline="", encoding="utf-8", errors="surrogateescape"
    ) as file:
        found = list(csv.DictReader(file))
    assert [from_cell(row["path"]) for row in found] == ODD_NAMES
    nearest = [from_cell(row["nearest_representative"]) for row in found]
    assert nearest == ODD_NAMES[::-1]
    assert [int(row["cluster"]) for row in found] == [row[1] for row in rows]
    assert [float(row["confidence"]) for row in found] == [row[2] for row in rows]
    assert [float(row["reconstruction_error"]) for row in found] == [
        row[3] for row in rows
    ]
    assert b"no utf-8 \xff\xfe.png" in (tmp_path / "a.csv").read_bytes()


def test_pandas_reads_the_table(tmp_path):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    rows = list(assignment_rows(ODD_NAMES, assignments(len(ODD_NAMES)), ODD_NAMES))
    save_csv(tmp_path / "a.csv", COLUMNS, rows)
    # Beside pyarrow, pandas keeps texts as UTF-8, which not all names of files are.
    texts = dict.fromkeys(("path", "nearest_representative"), object)
    frame = pandas.read_csv(
        tmp_path / "a.csv", encoding_errors="surrogateescape", dtype=texts
    )
    assert tuple(frame.columns) == COLUMNS
    assert [from_cell(path) for path in frame["path"]] == ODD_NAMES
    assert frame["cluster"].tolist() == [row[1] for row in rows]
    np.testing.assert_allclose(frame["confidence"], [row[2] for row in rows])


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
BYTES = st.binary(min_size=1, max_size=20).filter(lambda name: 0 not in name)


@settings(max_examples=200, deadline=None)
@given(names=st.lists(NAMES | BYTES.map(os.fsdecode), max_size=5))
def test_any_name_comes_back(tmp_path_factory, names):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    save_csv(path, ("path", "reason"), [(name, "broken") for name in names])
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        found = list(csv.reader(file))
    assert found[0] == ["path", "reason"]
    assert all(reason == "broken" for _, reason in found[1:])
    assert [from_cell(path) for path, _ in found[1:]] == names
    assert not any(path.startswith(tuple("=+-@\t\r")) for path, _ in found)
    assert path.read_bytes().endswith(b"\n")


def test_ordinary_names_make_a_plain_table():
    file = io.StringIO()
    write_csv(file, ("path", "cluster"), [("a b.png", 1), ("c.png", 0)])
    assert file.getvalue() == "path,cluster\na b.png,1\nc.png,0\n"


def test_text_is_no_formula_and_numbers_are_numbers():
    file = io.StringIO()
    row = ('=HYPERLINK("a","b")', -1, -0.5, float("-inf"), None, "-1", True)
    write_csv(file, "abcdefg", [row])
    assert file.getvalue().splitlines()[1] == (
        '"\'=HYPERLINK(""a"",""b"")",-1,-0.5,-inf,,\'-1,True'
    )


@pytest.mark.parametrize("mark", [";", "\t", "\r"])
def test_what_ends_a_cell_elsewhere_is_quoted(mark):
    """Spreadsheets of some countries part cells by semicolons."""
    file = io.StringIO()
    write_csv(file, ("path", "cluster"), [(f"a{mark}=1+1", 1), ("b", 0)])
    assert file.getvalue() == f'path,cluster\n"a{mark}=1+1",1\nb,0\n'
    file.seek(0)
    assert list(csv.reader(file, delimiter=";"))[1] == [f"a{mark}=1+1,1"]


def test_the_same_table_as_lines_of_json(tmp_path):
    rows = list(assignment_rows(ODD_NAMES, assignments(len(ODD_NAMES)), ODD_NAMES))
    with open_table(tmp_path / "a.jsonl") as file:
        write_json_lines(file, COLUMNS, rows)
    lines = (tmp_path / "a.jsonl").read_text("ascii").splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == rows
    assert all(tuple(json.loads(line)) == COLUMNS for line in lines)
