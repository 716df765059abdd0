"""Pairs of model files, compared with what was saved, and forged."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from twofold.estimators.model_files import load_model

PUBLIC = (
    "labels_",
    "components_",
    "coefficients_",
    "left_projection_",
    "right_projection_",
    "objective_history_",
    "reconstruction_error_",
    "n_iter_",
    "n_features_in_",
)


def same(first, second):
    np.testing.assert_array_equal(first, second, strict=True)


def assert_same_model(loaded, model, X):
    """Bit for bit, on samples X that were not fitted."""
    same(loaded.predict(X), model.predict(X))
    codes = model.transform(X)
    same(loaded.transform(X), codes)
    same(loaded.inverse_transform(codes), model.inverse_transform(codes))
    for name in PUBLIC:
        same(getattr(loaded, name), getattr(model, name))
    assert list(loaded.objective_terms_) == list(model.objective_terms_)
    for name, term in model.objective_terms_.items():
        same(loaded.objective_terms_[name], term)
    assert loaded.sample_shape_ == model.sample_shape_
    assert isinstance(loaded.sample_shape_, tuple)
    assert loaded.state_.predictor.coefficients.flags.writeable
    public = {name for name in vars(model) if name.endswith("_")}
    assert {name for name in vars(loaded) if name.endswith("_")} == public
    assert vars(loaded).keys() == vars(model).keys()


# Forging

AGAIN = "; make it again with twofold cluster or save_model"


def refused(folder, file, reason):
    """Loading says in one line which file is wrong, why, and the way out."""
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(folder)
    message = str(caught.value)
    assert message.startswith(f"{folder / file}: ")
    assert message.endswith(AGAIN)
    assert "\n" not in message
    assert len(message) < 700


def edit_record(folder, edit):
    """Let ``edit`` change the record."""
    path = folder / "model.json"
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))


def write_npz(folder, content):
    """An npz of any content, and its digest in the record."""
    (folder / "model.npz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edit_record(folder, lambda record: record.update(sha256=digest))


def members(folder):
    with zipfile.ZipFile(folder / "model.npz") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries, compression=zipfile.ZIP_STORED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return content.getvalue()


def npy(array, **options):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, **options)
    return content.getvalue()


def header(text):
    """The start of an .npy member, of any header."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line


def shaped(shape, descr="'<i8'"):
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")


def lies_about_size(content):
    """The directory's size of the first member made huge."""
    start = content.index(b"PK\x01\x02")
    sizes = (2**31).to_bytes(4, "little") * 2
    return content[: start + 20] + sizes + content[start + 28 :]


def edited(content, edits, kept):
    """Some bytes replaced, and only a part of all kept."""
    spoiled = bytearray(content)
    for place, byte in edits:
        spoiled[int(place * len(spoiled))] = byte
    return bytes(spoiled[: int(np.ceil(kept * len(spoiled)))])
