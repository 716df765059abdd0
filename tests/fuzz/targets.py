"""The readers of files, each with the files that are damaged for it.

A reader may return, or raise one of ``EXPECTED`` with a message of one line.
"""

import io
import json
import struct
import tempfile
import zipfile
import zlib
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from array_forging import make_mat73
from fuzz.target import MEMORY, Target
from model_forging import container, digest, split
from PIL import Image
from safetensors.numpy import load
from scipy.io import savemat

from twofold import TSNMF
from twofold.app import workflow
from twofold.app.collection import Collection
from twofold.app.features import read_features
from twofold.app.report import read_report, render
from twofold.estimators import load_model
from twofold.estimators.search.cache import PreviewCache
from twofold.io import read_arrays, read_images, read_stack
from twofold.io.arrays import open_arrays
from twofold.paper import Result, Store, StoreError
from twofold.paper.datasets import decode
from twofold.paper.datasets.catalogue import CATALOGUE

EXPECTED = (ValueError, OSError, StoreError)

STACK = np.arange(60.0).reshape(5, 12)
LABELS = np.array([1, 2, 1, 2, 1])
NUMBERS = {"fea": STACK, "gnd": LABELS, "u": STACK.astype("u1"), "t": STACK > 7}


# Readers


def read_numbers(path):
    with suppress(*EXPECTED):
        read_stack(path, max_memory=MEMORY)
    with suppress(*EXPECTED), open_arrays(path, MEMORY) as file:
        parts = [file.rows(name) for name in file.arrays]
        [rows[1:3] for rows in parts if rows is not None]
    return read_arrays(path, max_memory=MEMORY)


def read_table(path):
    with suppress(*EXPECTED):
        read_features(path, max_memory=MEMORY)
    return read_numbers(path)


def read_picture(path):
    options = {"color": None, "thumbnails": 16, "on_error": "raise", "n_jobs": 1}
    return read_images(
        [path], 8, max_pixels=10**6, max_memory=2**26, progress=False, **options
    )


def read_page(path):
    return render(read_report(path.read_bytes()))


def read_store(path):
    with Store(path) as store:
        return list(store.results()), store.keys(), store.mean_seconds()


def read_preview(path):
    preview = PreviewCache.__new__(PreviewCache)
    preview._path = lambda candidate, k: path
    return preview.read(None, 2)


def read_data_set(path):
    return decode.decode_file(path, data_set())


@cache
def data_set():
    """An entry of the catalogue for STACK, five images of 3 x 4."""
    images = decode.unflatten(STACK.astype("u1"), (3, 4), "F")
    return replace(
        CATALOGUE["orl"],
        n_samples=5,
        n_classes=2,
        height=3,
        width=4,
        pixel_digest=decode.digest(images),
        label_digest=decode.digest((LABELS - 1).astype("i4")),
    )


# Undamaged files


def written(write, *arguments, **options):
    """Return the bytes that a function writes to a file."""
    buffer = io.BytesIO()
    write(buffer, *arguments, **options)
    return buffer.getvalue()


def npy_files():
    plain = [written(np.save, array) for array in (*NUMBERS.values(), STACK.T)]
    objects = written(np.save, np.array([{}, None]), allow_pickle=True)
    return [*plain, written(np.lib.format.write_array, STACK, version=(2, 0)), objects]


def npz_files():
    return [written(np.savez, **NUMBERS), written(np.savez_compressed, **NUMBERS)]


def named_npz_files():
    names = np.array([f"{i}.png" for i in range(len(STACK))])
    return [written(np.savez, e=STACK, path=names)]


def parquet_files():
    names = [f"{i}.png" for i in range(len(STACK))]
    lists = pa.table({"path": names, "e": STACK.tolist(), "label": LABELS})
    flat = pa.table({"path": names, "a": STACK[:, 0], "b": LABELS, "t": LABELS > 1})
    plain = {"compression": "none", "use_dictionary": False, "row_group_size": 2}
    return [
        written(lambda file, t=table, o=options: pq.write_table(t, file, **o))
        for table in (lists, flat)
        for options in ({}, plain, {"data_page_version": "2.0"})
    ]


def mat_files(**options):
    cell = np.empty(2, dtype=object)
    cell[:] = [STACK, "text"]
    more = {"s": {"a": STACK, "b": "text"}, "c": cell, "name": "text", "z": STACK * 1j}
    more = {} if "format" in options else more
    numbers = {name: array for name, array in NUMBERS.items() if name != "t"}
    return [written(savemat, c, **options) for c in (numbers | more, {"X": STACK})]


def packed_mat_files():
    return mat_files(do_compression=True)


def mat73_files():
    def fill(file, **options):
        for name, array in NUMBERS.items():
            file.create_dataset(name, data=array.T, **options)
        file["fea"].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_group("group")["inner"] = STACK
        file.create_dataset("references", (2,), h5py.ref_dtype)[0] = file["fea"].ref

    packed = {"chunks": True, "compression": "gzip", "shuffle": True}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mat"
        return [
            make_mat73(path, partial(fill, **options)).read_bytes()
            for options in ({}, packed, {"chunks": True, "fletcher32": True})
        ]


def text_files():
    table = written(np.savetxt, STACK, delimiter=",")
    return [
        table,
        b"a,b,c\n1,,3\n4,5,6\n",
        b"\xef\xbb\xbf1;2\r\n;nan\r\n",
        b"# x\n1 2\n",
    ]


def images(kind, **options):
    rng = np.random.RandomState(0)
    colour = Image.fromarray(rng.randint(256, size=(9, 7, 3), dtype=np.uint8))
    modes = ("RGB", "L", "P", "1") if kind not in ("JPEG", "WEBP") else ("RGB", "L")
    return [written(colour.convert(m).save, format=kind, **options) for m in modes]


def pictures(kind, **options):
    return partial(images, kind, **options)


packed_tiffs = pictures("TIFF", compression="packbits")


@cache
def results():
    """What ``twofold cluster`` writes: file names and bytes."""
    rng = np.random.RandomState(0)
    stack = rng.uniform(size=(12, 4, 4)) + np.repeat([0, 1], 6)[:, None, None]
    collection = Collection("tiny", stack, [f"x[{i}]" for i in range(12)])
    with tempfile.TemporaryDirectory() as folder:
        model = TSNMF(2, graph="heat", random_state=0)
        page = workflow.cluster(collection, model, Path(folder) / "out").page
        return {p.name: p.read_bytes() for p in page.parent.iterdir()}


def result_file(name):
    return lambda: [results()[name]]


def model_records():
    """The JSON in a model file, the arrays of which are kept."""
    header, _ = split(results()["model.safetensors"])
    return [header["__metadata__"]["twofold"].encode()]


def store_files():
    kinds = (str(kind) for kind in Result.__annotations__.values())
    values = [
        1.5 if "float" in kind else "{}" if "str" in kind else 1 for kind in kinds
    ]
    result = Result(*values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        with Store(path) as store:
            store.add([replace(result, key=str(i), error=None) for i in range(20)])
            # SQLite makes 1.0 of it, which is not what the checksum is of.
            store.add([replace(result, key="damaged", nmi=1)])
        return [path.read_bytes()]


def previews():
    rows = {"data": np.ones(4), "indices": [1, 0, 3, 2], "indptr": [0, 1, 2, 3, 4]}
    return [written(np.savez, **rows, labels=np.array([0, 0, 1, 1]), chance=0.5)]


# What is done after the damage, so that it is not found by a checksum alone


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X.npy", content)
    return buffer.getvalue()


def compressed(content):
    """A .mat file, all of whose elements become a compressed one."""
    data = zlib.compress(content[128:])
    return content[:128] + struct.pack("<II", 15, len(data)) + data


def checksums(content):
    """A PNG whose chunks have their checksums again."""
    fixed, at = bytearray(content), 8
    while at + 12 <= len(fixed):
        end = at + 8 + int.from_bytes(fixed[at : at + 4], "big")
        if end + 4 > len(fixed):
            break
        fixed[end : end + 4] = zlib.crc32(fixed[at + 4 : end]).to_bytes(4, "big")
        at = end + 4
    return bytes(fixed)


def model_file(text):
    """A model file with this record, and with its digest if it is JSON."""
    content = results()["model.safetensors"]
    header, data = split(content)
    with suppress(ValueError, RecursionError, AttributeError, TypeError):
        record = json.loads(text)
        record["sha256"] = digest(record, load(content))
        text = json.dumps(record).encode()
    header["__metadata__"]["twofold"] = text.decode("utf-8", "replace")
    return container(header, data)


TARGETS = {
    "npy": Target("a.npy", read_numbers, npy_files),
    "npz": Target("a.npz", read_numbers, npz_files),
    "npz-inside": Target("a.npz", read_numbers, npy_files, zipped),
    "npz-names": Target("a.npz", read_table, named_npz_files),
    "parquet": Target("a.parquet", read_table, parquet_files),
    "mat4": Target("a.mat", read_numbers, partial(mat_files, format="4")),
    "mat5": Target("a.mat", read_numbers, mat_files),
    "mat5-packed": Target("a.mat", read_numbers, packed_mat_files),
    "mat5-inside": Target("a.mat", read_numbers, mat_files, compressed),
    "mat73": Target("a.mat", read_numbers, mat73_files),
    "csv": Target("a.csv", read_numbers, text_files),
    "txt": Target("a.txt", read_numbers, text_files),
    "png": Target("a.png", read_picture, pictures("PNG")),
    "png-inside": Target("a.png", read_picture, pictures("PNG"), checksums),
    "jpeg": Target("a.jpg", read_picture, pictures("JPEG")),
    "tiff": Target("a.tif", read_picture, pictures("TIFF")),
    "tiff-packed": Target("a.tif", read_picture, packed_tiffs),
    "gif": Target("a.gif", read_picture, pictures("GIF")),
    "bmp": Target("a.bmp", read_picture, pictures("BMP")),
    "webp": Target("a.webp", read_picture, pictures("WEBP")),
    "model": Target("model.safetensors", load_model, result_file("model.safetensors")),
    "model-inside": Target("model.safetensors", load_model, model_records, model_file),
    "report": Target("report.json", read_page, result_file("report.json")),
    "store": Target("s.sqlite", read_store, store_files),
    "preview": Target("a.npz", read_preview, previews),
    "data-set-mat": Target("a.mat", read_data_set, mat_files),
    "data-set-npz": Target("a.npz", read_data_set, npz_files),
}
"""All readers by name. A new one is a line here."""
