"""HDF5 files by a stranger: no other file is read, no filter loaded."""

import zlib

import h5py
import numpy as np
import pytest
from array_forging import make_mat73, refused

from twofold.app.collection import Reading, read_collection
from twofold.io import read_arrays, read_stack

STACK = np.arange(24.0).reshape(4, 6)
SECRET = b"a secret of 24 bytes ..."


def external_storage(file):
    file.create_dataset("X", (4, 6), "u1", external=[("secret.txt", 0, 24)])


def external_link(file):
    file["X"] = h5py.ExternalLink("other.h5", "X")


def soft_link(file):
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/")
    file["X"] = h5py.SoftLink("/elsewhere/X")


def inner_link(file):
    file["X"] = h5py.SoftLink("/Y")


def virtual(file, longest=4):
    layout = h5py.VirtualLayout((4, 6), "f8", maxshape=(longest, 6))
    source = h5py.VirtualSource("other.h5", "X", (4, 6), maxshape=(longest, 6))
    layout[:] = source
    file.create_virtual_dataset("X", layout)


def virtual_of_any_length(file):
    virtual(file, None)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with two files that are not to be read, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = STACK
    return tmp_path


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (external_storage, "X is stored in other files, which are not read"),
        (external_link, "X is a link, and links are not followed"),
        (soft_link, "X is a link, and links are not followed"),
        (inner_link, "X is a link, and links are not followed"),
        (virtual, "X is made of other data sets, which are not read"),
        (virtual_of_any_length, "X is made of other data sets, which are not read"),
    ],
)
def test_no_file_makes_us_read_another(elsewhere, fill, reason):
    def with_another(file):
        fill(file)
        file["Y"] = STACK.T

    path = make_mat73(elsewhere / "a.mat", with_another)
    refused(path, reason, key="X")
    with pytest.raises(ValueError, match=r"not (read|followed)"):
        read_stack(path)  # which cannot be known to mean Y
    with pytest.raises(ValueError, match=r"not (read|followed)"):
        read_arrays(path)
    with pytest.raises(ValueError, match=reason):
        read_collection(path, Reading(key="Y"), labels="X")
    np.testing.assert_array_equal(read_stack(path, key="Y"), STACK)


def test_what_is_asked_for_is_read_beside_such_a_link(elsewhere):
    path = make_mat73(elsewhere / "a.mat", external_link)
    with pytest.raises(ValueError, match=r"key='Z' is not in .* X \(is a link"):
        read_stack(path, key="Z")


def test_a_name_that_is_a_path_is_not_followed(elsewhere):
    """The path would go through a link to another file."""

    def fill(file):
        file["a"] = h5py.ExternalLink("other.h5", "/")
        file["a!X"] = np.zeros((2, 2))
        file["z"] = STACK.T

    path = make_mat73(elsewhere / "a.mat", fill)
    path.write_bytes(path.read_bytes().replace(b"a!X", b"a/X"))
    refused(path, "a/X has a name that is a path", key="a/X")
    np.testing.assert_array_equal(read_stack(path, key="z"), STACK)


def test_what_is_no_array_is_left_out(tmp_path):
    def fill(file):
        file["X"] = STACK.T
        file.create_group("group")["inner"] = STACK
        file["type"] = np.dtype("f8")
        file["null"] = h5py.Empty("f8")
        file["complex"] = STACK * 1j
        file["text"] = "text"
        file.create_dataset("lists", (2,), h5py.vlen_dtype("f8"))
        file.create_dataset("objects", (2,), h5py.ref_dtype)[0] = file["X"].ref
        region = file["X"].regionref[:2]
        file.create_dataset("regions", (2,), h5py.regionref_dtype)[0] = region
        file["pairs"] = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
        file["object"] = STACK
        file["object"].attrs["MATLAB_class"] = np.bytes_("table")

    path = make_mat73(tmp_path / "a.mat", fill)
    assert list(read_arrays(path)) == ["X"]


def test_numbers_of_every_kind_in_an_hdf5_file(tmp_path):
    kinds = ["?", "i1", "<i2", ">i4", "<u8", "<f4", ">f8", "<f2"]
    stacks = {f"as{i}": (STACK % 7).astype(kind) for i, kind in enumerate(kinds)}

    def fill(file):
        for name, stack in stacks.items():
            options = {"chunks": (2, 3), "shuffle": True, "fletcher32": True}
            options |= {"compression": "gzip"} if name != "as3" else {}
            file.create_dataset(name, data=stack.T, **options)
        long = np.bytes_("double".ljust(60_000))
        file["as4"].attrs["MATLAB_class"] = long  # longer than any class: no matter
        file["as5"].attrs["MATLAB_class"] = np.bytes_("single")

    found = read_arrays(make_mat73(tmp_path / "a.mat", fill))
    assert found.keys() == stacks.keys()
    for name, stack in stacks.items():
        np.testing.assert_array_equal(found[name], stack, strict=True)


def test_a_filter_that_would_be_loaded_from_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))

    def fill(file):
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_chunk((6, 4))
        layout.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple((6, 4))
        h5py.h5d.create(file.id, b"X", h5py.h5t.IEEE_F64LE, space, layout)

    path = make_mat73(tmp_path / "a.mat", fill)
    refused(path, "X takes filter 32015, which is not applied")


def test_a_chunk_that_inflates_to_more_than_its_size(tmp_path):
    def fill(file):
        data = file.create_dataset("X", (6, 4), "f4", chunks=(6, 4), compression="gzip")
        data.id.write_direct_chunk((0, 0), zlib.compress(bytes(2**26)))

    path = make_mat73(tmp_path / "a.mat", fill)
    refused(path, "a chunk that is larger than its header says")


def test_data_that_were_never_written(tmp_path):
    def fill(file):
        file.create_dataset("X", (20_000, 10_000), "f8", chunks=(100, 100))
        file.create_dataset("Y", (6, 4), "f4", chunks=(2**27, 4), maxshape=(None, 4))
        file["Z"] = STACK.T

    path = make_mat73(tmp_path / "a.mat", fill)
    assert path.stat().st_size < 10_000
    refused(path, r"X would take 1.6 GiB, and max_memory is 1.0 GiB; .*--max", key="X")
    refused(path, r"Y would take 2.0 GiB, and max_memory is 1.0 GiB", key="Y")
    np.testing.assert_array_equal(read_stack(path, key="Z"), STACK)


def test_filters_of_the_list_of_names(tmp_path):
    """They would be loaded, or inflated without a limit, when names are listed."""
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", libver="latest", userblock_size=512) as file:
        for i in range(20):  # so many are kept in a heap
            file[f"array {i}"] = STACK
    plain = path.read_bytes()
    signature = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    content = signature + plain[128:]
    path.write_bytes(content)
    np.testing.assert_array_equal(read_stack(path, key="array 7"), STACK.T)
    at = content.index(b"FRHP")
    assert content[at + 7 : at + 9] == b"\0\0"  # the length of filters
    path.write_bytes(content[: at + 7] + b"\x14\0" + content[at + 9 :])
    refused(path, "names are stored with filters", key="array 7")


def test_every_chunk_counts(tmp_path):
    """HDF5 keeps some kilobytes for each, also for one that was never written."""
    path = make_mat73(
        tmp_path / "a.mat",
        lambda file: file.create_dataset("X", (10, 1000), "u1", chunks=(1, 1)),
    )
    with pytest.raises(ValueError, match=r"X would take 39.1 MiB, and max_memory is"):
        read_stack(path, max_memory=2_000_000)
