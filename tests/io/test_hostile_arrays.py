"""Array files by a stranger: nothing outside is read, and memory is bounded."""

import os
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from array_forging import make_mat73, refused
from scipy.io import savemat

from twofold.app.collection import Reading, read_collection
from twofold.io import read_arrays, read_stack

STACK = np.arange(24.0).reshape(4, 6)
MIB = 2**20


def peak_of(function):
    """Return the result, and the most memory that NumPy and Python held."""
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


# Small files, large memory


def make_npz(path):
    np.savez_compressed(path, big=np.zeros((2, MIB)), small=STACK)


def make_mat(path):
    content = {"big": np.zeros((2, MIB)), "small": STACK}
    savemat(path, content, do_compression=True)


def make_big_mat73(path):
    def fill(file):
        for name, array in (("big", np.zeros((2, MIB))), ("small", STACK)):
            file.create_dataset(name, data=array.T, compression="gzip")

    make_mat73(path, fill)


@pytest.mark.parametrize(
    ("name", "make"),
    [("a.npz", make_npz), ("a.mat", make_mat), ("b.mat", make_big_mat73)],
)
def test_only_what_is_wanted_is_read(tmp_path, name, make):
    """The other array takes 16 MiB, of which there must be no trace."""
    path = tmp_path / name
    make(path)
    assert path.stat().st_size < 10**6
    read_stack(path, key="small")  # to import what is imported later
    stack, peak = peak_of(lambda: read_stack(path, key="small"))
    np.testing.assert_array_equal(stack, STACK)
    assert peak < 2 * MIB
    _, peak = peak_of(lambda: read_stack(path, key="big"))
    assert peak < 2 * 16 * MIB
    claim = r"big would take 1[68].0 MiB, and max_memory is 4"  # HDF5 needs some more
    refused(path, claim, key="big", **limit(4))
    with pytest.raises(ValueError, match=r"big and small would take 1[68]"):
        read_arrays(path, **limit(16))
    assert read_arrays(path, **limit(19)).keys() == {"big", "small"}
    reading = Reading(key="small", max_memory=MIB)
    assert len(read_collection(path, reading).images) == 4
    with pytest.raises(ValueError, match="small and big would take"):
        read_collection(path, reading, labels="big")


def limit(n):
    return {"max_memory": n * MIB}


def test_the_only_stack_is_found_by_the_headers(tmp_path):
    make_npz(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"key must name one .* big \(2, 1048576\), "):
        read_stack(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "b.npz", long=np.zeros(2 * MIB), stack=STACK)
    stack, peak = peak_of(lambda: read_stack(tmp_path / "b.npz"))
    np.testing.assert_array_equal(stack, STACK)
    assert peak < 2 * MIB


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.npy", lambda path: np.save(path, STACK)),
        ("a.npz", lambda path: np.savez(path, STACK)),
        ("a.mat", lambda path: savemat(path, {"X": STACK})),
        ("a.csv", lambda path: np.savetxt(path, STACK, delimiter=",")),
        ("a.txt", lambda path: np.savetxt(path, STACK)),
    ],
)
def test_every_kind_of_file_has_the_limit(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    refused(path, "would take 192 bytes, and max_memory is 191 bytes;", max_memory=191)
    np.testing.assert_array_equal(read_stack(path, max_memory=192), STACK)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1GiB", True])
def test_a_limit_that_is_no_number_of_bytes(tmp_path, wrong):
    np.save(tmp_path / "a.npy", STACK)
    with pytest.raises(ValueError, match=r"max_memory must be a number of bytes, at"):
        read_stack(tmp_path / "a.npy", max_memory=wrong)


# Headers that lie


def npy(shape, data=b"", version=(1, 0), descr="<f8"):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + data


def zipped(path, content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("X.npy", content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy((4, 6), bytes(191)), "an array of 192 bytes"),
        (npy((10**9, 10**9)), "would take 7275957.6 TiB"),
        (npy((-4, -6), bytes(192)), "impossible shape"),
        (npy((4, 6), bytes(192), (9, 0)), "version"),
        (npy("(" * 5000, bytes(192)), "header"),
        (npy((1,) * 40, bytes(8)), "impossible shape"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + bytes(16 * MIB), "header"),
    ],
)
def test_headers_of_numpy_that_lie(tmp_path, content, reason):
    (tmp_path / "a.npy").write_bytes(content)
    zipped(tmp_path / "a.npz", content)
    for name in ("a.npy", "a.npz"):
        refused(tmp_path / name, reason)


def test_members_that_are_not_what_they_say(tmp_path):
    path = tmp_path / "a.npz"
    zipped(path, npy((4, 6), bytes(193)))
    refused(path, "X.npy has more than its header says")
    zipped(path, npy((1000, 1000), bytes(64)))  # 8 MB, and some 90 bytes deflated
    refused(path, r"an array of 8,000,000 bytes, of which there are \d\d,\d\d\d\)")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):  # inflated as a whole
        zipped(path, npy((4, 6), bytes(192)), method)
        refused(path, "X.npy is compressed in a way NumPy does not use")
    zipped(path, npy((4, 6), bytes(192)))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + 16] ^= 1  # the checksum
    path.write_bytes(content)
    refused(path, "Bad CRC-32")


def element(kind, data, size=None):
    return struct.pack("<II", kind, len(data) if size is None else size) + data


def matrix(shape, data, *, size=None, kind=9, name=b"X", flags=6):
    inside = element(6, struct.pack("<II", flags, 0))
    inside += element(5, np.array(shape, "<i4").tobytes())
    inside += element(1, name + bytes(-len(name) % 8), len(name))
    return inside + element(kind, data, size)


def mat5(content, compressed=False):
    whole = element(14, content)
    if compressed:
        whole = element(15, zlib.compress(whole))
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + whole


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (matrix((4, 6), bytes(192), size=2**31), "of shape .* has 2,147,483,648 byt"),
        (matrix((2**14, 2**14), b"", size=2**31), "would take 2.0 GiB, and max_memory"),
        (matrix((2**12, 2**12), b"", size=2**27), "an array of 134,217,728 bytes, of"),
        (matrix((4, 6), bytes(100), size=192), "an array of 192 bytes"),
        (matrix((-4, -6), bytes(192)), "impossible shape"),
        (matrix((4, 6), bytes(192), kind=14), "unknown type 14"),
        (matrix((4,) * 1000, bytes(192)), "impossible shape"),
        (matrix((4,) * 2000, bytes(192)), "bytes, of which there are"),
        (element(6, b"", 2**31), "bytes, of which there are"),
        (struct.pack("<I", 6 << 16 | 6) + bytes(4), "a small element of 6 bytes"),
        (b"", "an array of 4 bytes"),
    ],
)
def test_variables_that_lie(tmp_path, content, reason, compressed):
    path = tmp_path / "a.mat"
    path.write_bytes(mat5(content, compressed))
    refused(path, reason)


def test_a_small_damaged_matlab_file_is_not_out_of_memory(tmp_path):
    """An element of 179 bytes whose length says 4 GiB."""
    path = tmp_path / "a.mat"
    savemat(path, {"X": np.zeros((1, 1))})
    content = bytearray(path.read_bytes()[:179])
    content[132:136] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    refused(path, "an element of 4,294,967,295 bytes, the file is cut short")


def test_variables_that_matlab_keeps_for_itself_are_left_out(tmp_path):
    path = tmp_path / "a.mat"
    nameless = matrix((4, 6), STACK.tobytes(), name=b"")
    path.write_bytes(mat5(matrix((4, 6), STACK.tobytes())) + element(14, nameless))
    assert list(read_arrays(path)) == ["X"]


@pytest.mark.parametrize(
    "header",
    [
        (0, 2**30, 2**30, 0, 2),
        (0, -1, 1, 0, 2),
        (0, 4, 6, 0, 2**31 - 1),
        (0, 4, 6, 0, 0),
        (99, 4, 6, 0, 2),
        (0, 4, 6, 1, 2),  # complex, which is twice as long
    ],
)
def test_matlab_files_of_version_4_that_lie(tmp_path, header):
    path = tmp_path / "a.mat"
    path.write_bytes(struct.pack("<5i", *header) + b"X\0" + STACK.tobytes())
    refused(path, "the file is|impossible shape")


# Text


def test_a_text_file_takes_memory_in_proportion_to_its_size(tmp_path):
    path = tmp_path / "a.csv"
    for rows, columns in ((20_000, 10), (10, 20_000)):
        path.write_text(("1," * columns)[:-1] + "\n" + ("12," * columns)[:-1] + "\n")
        with path.open("a") as file:
            file.writelines([("1," * columns)[:-1] + "\n"] * (rows - 2))
        _, peak = peak_of(lambda: read_stack(path))
        assert peak < 32 * path.stat().st_size


# Arguments


@pytest.mark.parametrize("wrong", ["ab", 64, (32.0, 32.0), (None,)])
def test_a_sample_shape_that_is_no_shape(tmp_path, wrong):
    np.save(tmp_path / "a.npy", STACK)
    with pytest.raises(ValueError, match=r"sample_shape must be a tuple of whole num"):
        read_stack(tmp_path / "a.npy", sample_shape=wrong)


@pytest.mark.parametrize("read", [read_stack, read_arrays])
@pytest.mark.parametrize("wrong", [None, 5, [b"a.npy"]])
def test_a_path_that_is_none(read, wrong):
    with pytest.raises(ValueError, match=r"path must be a str or a Path, got"):
        read(wrong)


@pytest.mark.parametrize("wrong", [5, ["X"]])
def test_a_key_that_is_no_name(tmp_path, wrong):
    np.savez(tmp_path / "a.npz", X=STACK)
    with pytest.raises(ValueError, match=r"key=.* is not in .* X \(4, 6\)"):
        read_stack(tmp_path / "a.npz", key=wrong)


def test_files_are_closed(tmp_path):
    """So that a folder of many can be read, and on Windows a file be replaced."""
    make_npz(tmp_path / "a.npz")
    make_mat(tmp_path / "a.mat")
    make_big_mat73(tmp_path / "b.mat")
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else ()
    for name in ("a.npz", "a.mat", "b.mat"):
        read_stack(tmp_path / name, key="small")
        refused(tmp_path / name, "max_memory", key="small", max_memory=1)
    if before:
        assert set(os.listdir("/proc/self/fd")) == before
