"""Image files in a folder per cluster."""

import os
from pathlib import Path

import numpy as np
import pytest
from small_photos import ODD_NAMES

from twofold.app.outputs import sort_files


def write(folder, names):
    """Files that hold their own names."""
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(path))
    return paths


def sorted_content(folder):
    return {
        os.fsencode(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("how", ["copy", "link"])
def test_files_of_each_cluster_are_together(tmp_path, how):
    paths = write(tmp_path / "in", [f"{i}.png" for i in range(12)])
    clusters = np.arange(12)
    sort_files(tmp_path / "staged/clusters", paths, clusters, how)
    os.rename(tmp_path / "staged", tmp_path / "out")
    found = sorted_content(tmp_path / "out/clusters")
    expected = {b"%02d/%d.png" % (i, i): os.fsencode(paths[i]) for i in range(12)}
    assert found == expected
    links = [path.is_symlink() for path in (tmp_path / "out").rglob("*.png")]
    assert links == [how == "link"] * 12


def test_files_of_no_cluster_are_together_too(tmp_path):
    paths = write(tmp_path / "in", [f"{i}.png" for i in range(4)])
    found = sort_files(tmp_path / "out", paths, np.array([1, -1, 0, -1]), "copy")
    names = {b"1/0.png": 0, b"outliers/1.png": 1, b"0/2.png": 2, b"outliers/3.png": 3}
    assert sorted_content(tmp_path / "out") == {
        name: os.fsencode(paths[i]) for name, i in names.items()
    }
    assert [path for path, _ in found] == [str(path) for path in paths]


@pytest.mark.parametrize("how", ["copy", "link"])
def test_odd_names_are_kept(tmp_path, how):
    paths = write(tmp_path / "in", ODD_NAMES)
    sort_files(tmp_path / "out", paths, np.zeros(len(ODD_NAMES), dtype=int), how)
    found = sorted_content(tmp_path / "out")
    assert found == {b"0/" + os.fsencode(p.name): os.fsencode(p) for p in paths}


@pytest.mark.parametrize("how", ["copy", "link"])
def test_equal_names_get_numbers(tmp_path, how):
    names = ["a/1.png", "b/1.png", "c/1.png", "d/1-2.png", "e/1.png", "f/.x", "g/.x"]
    paths = write(tmp_path / "in", names)
    sort_files(tmp_path / "out", paths, np.array([0, 0, 1, 0, 0, 0, 0]), how)
    found = sorted_content(tmp_path / "out")
    expected = {
        b"0/1.png": 0,
        b"0/1-2.png": 1,
        b"1/1.png": 2,
        b"0/1-2-2.png": 3,
        b"0/1-3.png": 4,
        b"0/.x": 5,
        b"0/.x-2": 6,
    }
    assert found == {name: os.fsencode(paths[i]) for name, i in expected.items()}


def test_thousands_of_equal_names_are_tried_once_each(tmp_path, monkeypatch):
    path = write(tmp_path / "in", ["1.png"])[0]
    asked = []
    lexists = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda p: asked.append(p) or lexists(p))
    sort_files(tmp_path / "out", [path] * 300, np.zeros(300, dtype=int), "link")
    assert len(os.listdir(tmp_path / "out/0")) == 300
    assert len(asked) <= 2 * 300


def test_links_from_relative_paths_hold_from_anywhere(tmp_path, monkeypatch):
    write(tmp_path / "in", ["1.png", "2.png"])
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    paths = [Path("../in/1.png"), Path("../in/../in/2.png")]
    sort_files(Path("deep/staged/clusters"), paths, np.array([0, 1]), "link")
    os.rename("deep/staged", tmp_path / "out")
    monkeypatch.chdir("/")
    found = sorted_content(tmp_path / "out/clusters")
    expected = {b"0/1.png": "in/1.png", b"1/2.png": "in/2.png"}
    assert found == {k: os.fsencode(tmp_path / path) for k, path in expected.items()}


def test_copies_are_copies_with_their_times(tmp_path):
    path = write(tmp_path / "in", ["1.png"])[0]
    os.utime(path, (1e9, 1e9))
    (tmp_path / "in/2.png").symlink_to(path)
    paths = [path, tmp_path / "in/2.png"]
    sort_files(tmp_path / "out", paths, np.array([0, 1]), "copy")
    for copy in (tmp_path / "out/0/1.png", tmp_path / "out/1/2.png"):
        assert not copy.is_symlink()
        assert copy.stat().st_mtime == 1e9
        copy.write_bytes(b"changed")
    assert path.read_bytes() == os.fsencode(path)


@pytest.mark.parametrize("how", ["copy", "link"])
def test_a_file_for_each_sample(tmp_path, how):
    paths = write(tmp_path / "in", ["1.png"])
    with pytest.raises(ValueError, match="argument"):
        sort_files(tmp_path / "out", paths, np.array([0, 1]), how)


def test_names_that_are_as_long_as_can_be(tmp_path):
    for folder in "abc":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{'é' * 125}x.png").write_text(folder)
    paths = sorted(tmp_path.glob("*/*.png"))
    sort_files(tmp_path / "clusters", paths, np.zeros(3, int), "copy")
    found = sorted(path.read_text() for path in (tmp_path / "clusters/0").iterdir())
    assert found == ["a", "b", "c"]
