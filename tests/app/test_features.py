"""Features of the user's own, joined with the files that they are of."""

from pathlib import Path

import numpy as np
import pytest

from twofold.app.features import Features, Listing, read_features, rows_of

ROWS = np.arange(12.0).reshape(4, 3)
FILES = ["photos/a/1.png", "photos/a/2.png", "photos/b/1.png", "photos/b/3.png"]


def listing(names=FILES, files=FILES, skipped=()):
    return Listing(list(names), list(files), list(skipped), Path("photos"))


def named(names, rows=ROWS):
    return Features(Path("f.npz"), rows, "paths", list(names))


# In the order of the files


def test_rows_are_in_the_order_of_the_files():
    found = rows_of(Features(Path("f.npy"), ROWS), listing())
    np.testing.assert_array_equal(found, ROWS)


def test_rows_of_files_that_were_skipped_are_left_out():
    features = Features(Path("f.npy"), ROWS)
    read = [FILES[0], FILES[2]]
    found = rows_of(features, listing(read, skipped=[FILES[1], FILES[3]]))
    np.testing.assert_array_equal(found, ROWS[[0, 2]])


def test_files_that_were_skipped_need_no_rows():
    features = Features(Path("f.npy"), ROWS[:3])
    found = rows_of(features, listing(FILES[1:], skipped=FILES[:1]))
    np.testing.assert_array_equal(found, ROWS[:3])


def test_another_number_of_rows_is_an_error():
    features = Features(Path("f.npy"), ROWS[:3])
    with pytest.raises(
        ValueError, match=r"f\.npy must have a row for each of the 4 fi"
    ):
        rows_of(features, listing())
    with pytest.raises(
        ValueError, match=r"4 files, of which 2 could be read, got 3 ro"
    ):
        rows_of(features, listing(FILES[:2], skipped=FILES[2:]))


def test_frames_have_a_row_each_or_the_rows_have_names():
    frames = ["photos/s.tif[0]", "photos/s.tif[1]", "photos/x.png"]
    files = ["photos/s.tif", "photos/x.png"]
    found = rows_of(Features(Path("f.npy"), ROWS[:3]), listing(frames, files))
    np.testing.assert_array_equal(found, ROWS[:3])
    with pytest.raises(ValueError, match=r"s\.tif\[0\].* got 2 rows.*--frames first"):
        rows_of(Features(Path("f.npy"), ROWS[:2]), listing(frames, files))
    # Three rows can be those of three files as well.
    both = listing(frames, [*files, "photos/y.png"], ["photos/y.png"])
    with pytest.raises(ValueError, match=r"1 skipped; take --frames first"):
        rows_of(Features(Path("f.npy"), ROWS[:3]), both)
    found = rows_of(named(["x.png", "s.tif[1]", "s.tif[0]"], ROWS[:3]), both)
    np.testing.assert_array_equal(found, ROWS[[2, 1, 0]])
    with pytest.raises(ValueError, match=r"s\.tif\[0\] and 1 other are.*each frame"):
        rows_of(named(["x.png", "s.tif"], ROWS[:2]), both)


# By their names


@pytest.mark.parametrize(
    "names",
    [
        FILES,
        [f"./{name}" for name in FILES],
        [str(Path(name).absolute()) for name in FILES],
        ["a/1.png", "a/2.png", "b/1.png", "b/3.png"],
        ["a/1.png", "2.png", "b/1.png", "3.png"],
    ],
)
def test_rows_are_joined_by_their_names(names):
    order = [2, 0, 3, 1]
    found = rows_of(named([names[i] for i in order], ROWS[order]), listing())
    np.testing.assert_array_equal(found, ROWS)


def test_named_rows_of_skipped_files_are_left_out():
    found = rows_of(named(FILES), listing(FILES[2:], skipped=FILES[:2]))
    np.testing.assert_array_equal(found, ROWS[2:])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            FILES[1:],
            r"paths in f\.npz must name every image, and photos/a/1\.png is no",
        ),
        (FILES[:1], r"and photos/a/2\.png and 2 others are not there"),
        ([*FILES, "z.png"], r"and z\.png is not among the 4; leave such rows out"),
        (
            [*FILES[:3], "3.png", FILES[3]],
            r"once, got photos/b/3\.png in the rows 3 an",
        ),
        (
            ["1.png", *FILES[1:]],
            r"by 1\.png, which can be photos/a/1\.png or photos/b/",
        ),
    ],
)
def test_names_that_do_not_match(names, message):
    with pytest.raises(ValueError, match=message):
        rows_of(named(names, np.zeros((len(names), 2))), listing())


# The file


def test_names_in_an_npz_file(tmp_path):
    np.savez(tmp_path / "f.npz", Paths=np.array(FILES), e=ROWS, label=np.array(["x"]))
    found = read_features(tmp_path / "f.npz")
    assert found.key == "Paths"
    assert found.names == FILES
    np.testing.assert_array_equal(found.rows, ROWS)


def test_names_in_an_array_of_any_name(tmp_path):
    """If all of its texts are files; others, such as classes, say nothing."""
    np.savez(
        tmp_path / "f.npz", id=np.array(FILES[::-1]), e=ROWS, c=np.array(["x"] * 4)
    )
    found = rows_of(read_features(tmp_path / "f.npz"), listing())
    np.testing.assert_array_equal(found, ROWS[::-1])
    np.savez(tmp_path / "f.npz", id=np.array([*FILES[1:], "other.png"]), e=ROWS)
    found = rows_of(read_features(tmp_path / "f.npz"), listing())
    np.testing.assert_array_equal(found, ROWS)


def test_long_texts_are_not_read_for_names(tmp_path):
    captions = np.array(["a" * 3000] * 4)
    np.savez(tmp_path / "f.npz", caption=captions, e=ROWS)
    found = read_features(tmp_path / "f.npz", max_memory=5000)
    np.testing.assert_array_equal(found.rows, ROWS)


def test_names_that_would_have_to_be_unpickled(tmp_path):
    names = np.array(FILES, dtype=object)
    np.savez(tmp_path / "f.npz", paths=names, e=ROWS)
    with pytest.raises(
        ValueError, match="paths holds objects, which are not unpickled"
    ):
        read_features(tmp_path / "f.npz")


def test_other_objects_do_no_harm(tmp_path):
    np.savez(tmp_path / "f.npz", other=np.array([{}, None]), e=ROWS)
    found = read_features(tmp_path / "f.npz")
    assert found.names is None
    np.testing.assert_array_equal(found.rows, ROWS)


def test_a_key_names_the_array(tmp_path):
    np.savez(tmp_path / "f.npz", a=ROWS, b=2 * ROWS)
    with pytest.raises(
        ValueError, match=r"key must name one of the arrays of .*f\.npz"
    ):
        read_features(tmp_path / "f.npz")
    np.testing.assert_array_equal(read_features(tmp_path / "f.npz", "b").rows, 2 * ROWS)


def test_arrays_that_are_no_rows(tmp_path):
    np.savez(tmp_path / "f.npz", e=ROWS, path=np.array(FILES[:3]))
    with pytest.raises(ValueError, match="must name each of the 4 rows, got 3 names"):
        read_features(tmp_path / "f.npz")
    np.save(tmp_path / "f.npy", np.arange(4))
    with pytest.raises(
        ValueError, match=r"must be a row .*, got an array of shape \(4,"
    ):
        read_features(tmp_path / "f.npy")


def test_names_in_bytes_are_refused_rather_than_left_out(tmp_path):
    np.savez(tmp_path / "f.npz", rows=ROWS, paths=np.array(FILES, dtype="S"))
    with pytest.raises(ValueError, match=r"paths.* holds bytes; save texts with dtype"):
        read_features(tmp_path / "f.npz", None, None)


def test_a_file_of_the_same_name_in_another_folder_is_another_file():
    elsewhere = [f"/other/{name}" for name in FILES]
    with pytest.raises(ValueError, match=r"photos/a/1\.png"):
        rows_of(named(elsewhere), listing())
