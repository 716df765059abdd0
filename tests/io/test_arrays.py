import pickle
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array

from twofold.io import read_arrays, read_stack

STACK = np.arange(24, dtype=np.uint8).reshape(4, 6)


def write_mat73(path, **arrays):
    """As MATLAB does: axes reversed, behind a header of 512 bytes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as file:
        file.write(header)


def write(path):
    if path.suffix == ".mat":
        savemat(path, {"fea": STACK, "gnd": np.array([[1, 1, 2, 2]])})
    elif path.suffix == ".npy":
        np.save(path, STACK)
    elif path.suffix == ".npz":
        np.savez(path, fea=STACK, gnd=[1, 1, 2, 2])
    else:
        delimiter = {".csv": ",", ".tsv": "\t", ".txt": " ", ".data": ";"}[path.suffix]
        np.savetxt(path, STACK, delimiter=delimiter)


@pytest.mark.parametrize(
    "ending", [".mat", ".npy", ".npz", ".csv", ".tsv", ".txt", ".data", ".CSV"]
)
def test_stacks_are_read_from_every_container(tmp_path, ending):
    path = tmp_path / f"stack{ending.lower()}"
    write(path)
    path = path.rename(tmp_path / f"stack{ending}")
    np.testing.assert_array_equal(read_stack(path), STACK)
    images = read_stack(str(path), sample_shape=(2, 3))
    np.testing.assert_array_equal(images[1], [[6, 7, 8], [9, 10, 11]])
    columns_first = read_stack(path, sample_shape=(2, 3), order="F")
    np.testing.assert_array_equal(columns_first[1], [[6, 8, 10], [7, 9, 11]])


def test_matlab_files_of_version_7_3(tmp_path):
    cube = np.arange(24.0).reshape(2, 3, 4)
    write_mat73(tmp_path / "new.mat", fea=STACK, cube=cube)
    arrays = read_arrays(tmp_path / "new.mat")
    np.testing.assert_array_equal(arrays["fea"], STACK)
    np.testing.assert_array_equal(arrays["cube"], cube)


def test_matlab_7_3_without_h5py_says_what_to_install(tmp_path, monkeypatch):
    write_mat73(tmp_path / "new.mat", fea=STACK)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ImportError, match=r'pip install "twofold\[mat73\]"'):
        read_arrays(tmp_path / "new.mat")


def test_colour_in_fortran_order(tmp_path):
    image = np.arange(24).reshape(2, 4, 3)
    np.save(tmp_path / "a.npy", image.ravel(order="F")[None])
    stack = read_stack(tmp_path / "a.npy", sample_shape=(2, 4, 3), order="F")
    np.testing.assert_array_equal(stack[0], image)


def test_a_header_is_skipped_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeffleft,right\n1,2\n3,4\n", encoding="utf-8")
    np.testing.assert_array_equal(read_stack(path), [[1, 2], [3, 4]])


def test_comments_and_blank_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n# two\n# lines\n\n1,2\n# more\n3,4\n")
    np.testing.assert_array_equal(read_stack(path), [[1, 2], [3, 4]])


def test_objects_text_and_notes_are_left_out(tmp_path):
    np.savez(tmp_path / "a.npz", X=STACK, names=np.array(["a", None], dtype=object))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as members:
        members.writestr("readme.txt", "not an array")
    assert list(read_arrays(tmp_path / "a.npz")) == ["X"]
    savemat(tmp_path / "a.mat", {"X": STACK, "name": "text", "cell": {"a": 1}})
    assert list(read_arrays(tmp_path / "a.mat")) == ["X"]
    write_mat73(tmp_path / "b.mat", X=STACK, text=STACK, none=np.zeros((1, 2)))
    with h5py.File(tmp_path / "b.mat", "r+") as file:
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
        file["none"].attrs["MATLAB_empty"] = 1
        file.create_group("struct")["inner"] = STACK
    assert list(read_arrays(tmp_path / "b.mat")) == ["X"]


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_files_with_cells_and_structures_pass_the_look_at_their_tags(
    tmp_path, compressed
):
    cell = np.empty(2, dtype=object)
    cell[:] = [STACK, "text"]
    content = {"X": STACK, "s": {"a": STACK, "b": "text"}, "c": cell, "l": STACK > 3}
    savemat(tmp_path / "a.mat", content, do_compression=compressed)
    assert set(read_arrays(tmp_path / "a.mat")) >= {"X", "l"}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_damaged_tag_is_an_error_and_not_the_end_of_the_process(tmp_path, compressed):
    """SciPy would use an unknown type as an index into a table."""
    path = tmp_path / "a.mat"
    savemat(path, {"X": np.zeros((3, 4))})
    content = bytearray(path.read_bytes())
    for kind in (0, 8, 10, 99, 255):
        content[176] = kind
        damaged = bytes(content)
        if compressed:
            data = zlib.compress(damaged[128:])
            damaged = damaged[:128] + struct.pack("<II", 15, len(data)) + data
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"unknown type {kind}, the file is"):
            read_arrays(path)


EVERY_KIND = [f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)] + ["f4", "f8"]


@pytest.mark.parametrize("options", [{}, {"do_compression": True}, {"format": "4"}])
def test_matlab_files_are_read_as_scipy_reads_them(tmp_path, options):
    path = tmp_path / "a.mat"
    kinds = ["u1", "i2", "u2", "i4", "f4", "f8"] if "format" in options else EVERY_KIND
    arrays = {f"as_{kind}": STACK.astype(kind) for kind in kinds}
    arrays |= {"small": np.array([[1.0, 2.0]]), "one": np.array([[7]], dtype="u1")}
    arrays |= {"text": "text", "imaginary": STACK * 1j, "sparse": csc_array(STACK)}
    if "format" not in options:
        arrays |= {"cube": STACK.reshape(2, 2, 6), "empty": np.zeros((0, 3))}
        arrays |= {"truth": STACK > 3, "a_name_of_31_characters_at_most": STACK}
    savemat(path, arrays, **options)
    found = read_arrays(path)
    assert found.keys() == arrays.keys() - {"text", "imaginary", "sparse", "empty"}
    for name, array in found.items():
        expected = loadmat(path, variable_names=[name])[name]
        np.testing.assert_array_equal(array, expected, strict=True)
        np.testing.assert_array_equal(array, arrays[name])


def test_matlab_files_of_the_other_byte_order(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"X": STACK.astype("f8")})
    content = path.read_bytes()
    words = np.frombuffer(content, "<u4")[32:].byteswap()
    # All words of this file but those of the name and the data, which begin at 184.
    body = words.tobytes()[:48] + content[176:180][::-1] + content[180:184][::-1]
    body = body[: 172 - 128] + content[172:176] + body[176 - 128 :]
    data = np.frombuffer(content[184:], "<f8").byteswap().tobytes()
    path.write_bytes(content[:124] + b"\x01\x00MI" + body + data)
    expected = loadmat(path)["X"]
    np.testing.assert_array_equal(expected, STACK)
    np.testing.assert_array_equal(read_arrays(path)["X"], expected, strict=True)


def test_one_of_several_arrays_is_named(tmp_path):
    np.savez(tmp_path / "a.npz", a=STACK, b=STACK + 1)
    with pytest.raises(ValueError, match=r"key must name one .*: a \(4, 6\), b \(4, 6"):
        read_stack(tmp_path / "a.npz")
    np.testing.assert_array_equal(read_stack(tmp_path / "a.npz", key="b"), STACK + 1)
    with pytest.raises(ValueError, match="key='c' is not in"):
        read_stack(tmp_path / "a.npz", key="c")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a file was unpickled",))


def bad_files(folder):
    trap = np.empty((2, 2), dtype=object)
    trap[:] = Trap()
    np.save(folder / "objects.npy", trap, allow_pickle=True)
    np.savez(folder / "objects.npz", trap)
    (folder / "pickle.npy").write_bytes(pickle.dumps(Trap()))
    (folder / "empty.mat").write_bytes(b"")
    (folder / "noise.mat").write_bytes(b"noise" * 100)
    savemat(folder / "cut.mat", {"fea": np.arange(10_000.0)})
    (folder / "cut.mat").write_bytes((folder / "cut.mat").read_bytes()[:5000])
    savemat(folder / "text.mat", {"name": "no numbers"})
    np.savez_compressed(folder / "cut.npz", fea=np.arange(10_000))
    (folder / "cut.npz").write_bytes((folder / "cut.npz").read_bytes()[:500])
    np.savez(folder / "zip.npz", STACK)
    (folder / "zip.npz").rename(folder / "zip.npy")
    np.save(folder / "plain.npy", STACK)
    (folder / "plain.npy").rename(folder / "plain.npz")
    (folder / "ragged.csv").write_text("1,2,3\n4,5\n")
    (folder / "words.csv").write_text("a,b\nc,d\n")
    (folder / "empty.csv").write_text("")
    (folder / "stack.xlsx").write_bytes(b"PK")
    return sorted(path.name for path in folder.iterdir())


def test_bad_files_are_named_and_never_unpickled(tmp_path):
    names = bad_files(tmp_path)
    assert len(names) == 14
    for name in names:
        with pytest.raises(ValueError, match=name) as caught:
            print(name, read_stack(tmp_path / name))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "1,,3\n4,5,6\n,,7\n"),
        ("a.csv", "x,y,z\n1, ,3\n4,5,6\n,,7\r\n"),
        ("a.csv", "1,nan,3\n4,5,6\nNaN,NAN,7\n"),
        ("a.csv", "1;;3\n4;5;6\n;;7\n"),
        ("a.tsv", "1\t\t3\n4\t5\t6\n\t\t7\n"),
        ("a.txt", "1 nan 3\n4 5 6\nnan nan 7\n"),
    ],
)
def test_empty_cells_are_nan(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    known = [[1, np.nan, 3], [4, 5, 6], [np.nan, np.nan, 7]]
    np.testing.assert_array_equal(read_stack(tmp_path / name), known)


def test_what_pandas_writes_is_read_with_its_gaps(tmp_path):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame({"a": [1.5, np.nan], "b": [np.nan, 2.5], "c": [0, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(read_stack(tmp_path / "a.csv"), frame.to_numpy())


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.npy: there is no such file"):
        read_arrays(tmp_path / "none.npy")


def test_a_shape_that_does_not_fit(tmp_path):
    np.save(tmp_path / "a.npy", STACK)
    with pytest.raises(ValueError, match=r"sample_shape=\(2, 4\) must fit .* \(4, 6\)"):
        read_stack(tmp_path / "a.npy", sample_shape=(2, 4))
    with pytest.raises(ValueError, match="order must be 'C' or 'F', got 'K'"):
        read_stack(tmp_path / "a.npy", order="K")


def test_stacks_that_have_the_shape_already_are_left_alone(tmp_path):
    cube = STACK.reshape(4, 2, 3)
    np.save(tmp_path / "a.npy", cube)
    for order in ("C", "F"):
        found = read_stack(tmp_path / "a.npy", sample_shape=(2, 3), order=order)
        np.testing.assert_array_equal(found, cube)
    np.save(tmp_path / "b.npy", STACK)
    rows = read_stack(tmp_path / "b.npy", sample_shape=(6,), order="F")
    np.testing.assert_array_equal(rows, STACK)


@pytest.mark.parametrize(
    ("shape", "sample_shape"),
    [
        ((4, 2, 3), (3, 2)),  # turned, not flat
        ((4, 2, 3), (6,)),
        ((4, 2, 3), (1, 6)),
        ((4, 3, 2, 1), (3, 2)),
        ((4, 6), (2, 6)),  # of which half the samples could be made
        ((4, 6), (1, 3)),  # or twice as many
        ((4, 6), (-2, -3)),
        ((4, 6), (-1, 3)),
        ((4, 6), ()),
        ((24,), (2, 3)),
        ((24,), (24,)),
        ((), (1,)),
    ],
)
def test_only_the_rows_of_a_flat_array_are_reshaped(tmp_path, shape, sample_shape):
    np.save(tmp_path / "a.npy", np.ones(shape))
    with pytest.raises(ValueError, match=r"must fit the rows of .*, which has shape"):
        read_stack(tmp_path / "a.npy", sample_shape=sample_shape)
