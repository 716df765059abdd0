"""Model files, compared with the model that was saved, and forged."""

import hashlib
import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from twofold.estimators import load_model

NAME = "model.safetensors"
AGAIN = "; make it again with twofold cluster or save_model"

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
    """Compare two models bit for bit, on samples X that were not fitted."""
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
    assert loaded.state_.predictor.weights == model.state_.predictor.weights
    assert vars(loaded).keys() == vars(model).keys()


def refused(path, reason, *, file=NAME):
    """Check that loading names the file, the reason and the way out in one line."""
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path / file}: ")
    assert message.endswith(AGAIN)
    assert "\n" not in message
    assert len(message) < 700


# Forging


def read_text(folder):
    """Return the record of a model file as text."""
    with safe_open(folder / NAME, framework="numpy") as file:
        return file.metadata()["twofold"]


def read_record(folder):
    return json.loads(read_text(folder))


def write_text(folder, text):
    """Replace the record by any text."""
    save_file(load_file(folder / NAME), folder / NAME, metadata={"twofold": text})


def digest(record, arrays):
    """Compute the digest that a record of these arrays must have."""
    body = {name: value for name, value in record.items() if name != "sha256"}
    found = hashlib.sha256(json.dumps(body, separators=(",", ":")).encode())
    for name in sorted(arrays):
        found.update(name.encode() + arrays[name].tobytes())
    return found.hexdigest()


def edit_record(folder, edit):
    """Let ``edit`` change the record, and compute its digest again if it has one."""
    record, arrays = read_record(folder), load_file(folder / NAME)
    edit(record)
    if isinstance(record.get("sha256"), str):
        record["sha256"] = digest(record, arrays)
    write_text(folder, json.dumps(record))


def edit_arrays(folder, **changed):
    """Replace arrays, or remove those that are None, and compute the digest again."""
    record, arrays = read_record(folder), load_file(folder / NAME) | changed
    arrays = {name: array for name, array in arrays.items() if array is not None}
    record["sha256"] = digest(record, arrays)
    save_file(arrays, folder / NAME, metadata={"twofold": json.dumps(record)})


def split(content):
    """Return the header and the data of a safetensors file."""
    start = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:start]), content[start:]


def container(header, data=b"", length=None):
    """Return a safetensors file with any header, and any claim of its length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    length = len(text) if length is None else length
    return length.to_bytes(8, "little") + text + data


def edited(content, edits, kept):
    """Replace some bytes, and keep only a part of all."""
    spoiled = bytearray(content)
    for position, byte in edits:
        spoiled[int(position * len(spoiled))] = byte
    return bytes(spoiled[: int(np.ceil(kept * len(spoiled)))])
