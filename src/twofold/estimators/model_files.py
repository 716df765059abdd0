"""A fitted TSNMF in one file, ``model.safetensors``, from which nothing is unpickled.

The arrays are stored as safetensors, and all other facts as JSON in the metadata of the
same file. The digest finds accidental damage only: all that is read is checked as if a
stranger had written it.
"""

import hashlib
import json
import math
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save
from sklearn.utils.validation import check_is_fitted

import twofold
from twofold.channels import PIXELS
from twofold.channels.network import NetworkError
from twofold.core.arrays import to_numpy
from twofold.core.missing.completion import Completion
from twofold.core.prediction import Predictor, TrainingSide
from twofold.estimators.fitted import Assessment, FittedState
from twofold.estimators.model_alignment import alignment_arrays, alignment_facts
from twofold.estimators.model_channels import (
    check_channels,
    mapping_facts,
    transformer_facts,
)
from twofold.estimators.model_record import (
    ARRAYS,
    FORMAT,
    MAX_RECORD,
    VERSION,
    Fit,
    NewerVersionError,
    Record,
    check_layouts,
    check_values,
    read_record,
    to_json,
)
from twofold.estimators.parameters import check_parameters, term_weights
from twofold.estimators.reading import read_numbers
from twofold.estimators.tsnmf import TSNMF
from twofold.io.staging import staged_file

__all__ = ["load_model", "save_model"]

_NAME = "model.safetensors"

_EARLIER = ("model.npz", "model.json")
"""Names of the files that earlier versions wrote."""

_KEY = "twofold"
"""Key of the record in the metadata, the only one, so that bytes are reproducible."""

_MAX_HEADER = MAX_RECORD + 2**16
"""Maximum number of bytes of a header: the record, and an entry for every array."""

_AGAIN = "make it again with twofold cluster or save_model"

_DTYPES = {"F32": "float32", "F64": "float64", "I64": "int64"}
"""Names of dtypes in safetensors, and in NumPy."""

_Part = TypeVar("_Part", TrainingSide, Completion)


def save_model(
    model: TSNMF, folder: str | Path, *, about: dict[str, Any] | None = None
) -> Path:
    """Write a fitted model to ``model.safetensors``.

    The file gets its name by an atomic rename when it is complete. PyTorch tensors are
    written as NumPy arrays.

    Parameters
    ----------
    model : TSNMF
        A fitted model. A ``random_state`` that is no integer is written as None, and an
        array as ``init`` in double precision. Its ``channels`` must be a name, an
        ``OrientedGradients``, or a ``NetworkFeatures`` of the default network.
    folder : str or Path
        Folder of the file; it must exist.
    about : dict or None, default=None
        Any further facts that JSON can hold: tuples come back as lists, and all keys as
        strings.

    Returns
    -------
    Path
        Path of the file.
    """
    if not isinstance(model, TSNMF):
        raise TypeError(
            f"model must be a TSNMF, got {type(model).__name__}; of an AutoTSNMF give "
            "best_estimator_"
        )
    check_is_fitted(model)
    folder = _path(folder, "folder")
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; make it first")
    way_out = "set its parameters right and fit it again"
    with _one_line_errors("model", way_out):
        check_parameters(model)
    _check_channels(model)
    with _one_line_errors("model", way_out):
        arrays = _arrays(model)
        facts = _facts(model, arrays)
        record = read_record(json.loads(to_json(facts | {"about": {}, "sha256": ""})))
        layouts = {name: (a.dtype.name, a.shape) for name, a in arrays.items()}
        check_layouts(layouts, record.fit)
        check_values(arrays, record.fit)
    with _one_line_errors("about", "give a smaller dict of what JSON can hold"):
        if not isinstance(about, dict | None):
            raise ValueError(f"must be a dict, got {reprlib.repr(about)}")
        # Decoded, so that the digest is of the same values that a reader decodes.
        facts = json.loads(to_json(facts | {"about": about or {}}))
        text = to_json(facts | {"sha256": _digest(facts, arrays)})
    with staged_file(folder / _NAME) as partial:
        rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        partial.write_bytes(save(rows, metadata={_KEY: text}))
    return folder / _NAME


def load_model(path: str | Path) -> tuple[TSNMF, dict[str, Any]]:
    """Read a model that ``save_model`` has written.

    The content of the file is not trusted: any defect raises a ValueError.

    Parameters
    ----------
    path : str or Path
        The file, or its folder.

    Returns
    -------
    model : TSNMF
        A model with the parameters, the fitted attributes and the exact predictions of
        the model that was saved. Its arrays are NumPy arrays, and lists among its
        parameters have become tuples.
    about : dict
        The ``about`` that was given to ``save_model``, or an empty dict.
    """
    path = _file(_path(path, "path"))
    with path.open("rb") as start:
        n_header = int.from_bytes(start.read(8), "little")
    with _one_line_errors(path, _AGAIN):
        if n_header > path.stat().st_size:
            raise ValueError(f"must be a whole {FORMAT}, got a part or another file")
        if n_header > _MAX_HEADER:
            raise ValueError(
                f"must be a {FORMAT} with a header of at most {_MAX_HEADER:,} bytes, "
                f"got a header of {n_header:,}"
            )
        record, arrays = _read(path)
        return _fitted_model(record, arrays), record.about


@contextmanager
def _one_line_errors(subject: str | Path, way_out: str) -> Iterator[None]:
    """Turn any exception into a ValueError of one line about ``subject``."""
    try:
        yield
    except NewerVersionError as error:
        raise ValueError(f"{subject}: {error}") from error
    except Exception as error:  # the exceptions of hostile files are of any type
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        # Names and values of a hostile file may be megabytes long.
        reason = reason if len(reason) <= 300 else f"{reason[:300]}..."
        # What a network needs is the way out.
        ending = "" if isinstance(error, NetworkError) else f"; {way_out}"
        raise ValueError(f"{subject}: {reason}{ending}") from error


def _path(path: Any, name: str) -> Path:
    """Return an argument as a path."""
    if not isinstance(path, str | PathLike) or not str(path):
        raise TypeError(f"{name} must be a path, got {reprlib.repr(path)}")
    return Path(path)


def _file(path: Path) -> Path:
    """Return the path of the model file, which is a regular file."""
    earlier = [path / name for name in _EARLIER] if path.is_dir() else []
    file = path / _NAME if path.is_dir() else path
    if file.name in _EARLIER or not file.exists():
        if any(other.exists() for other in (*earlier, file)):
            raise ValueError(
                f"{path}: was written by an earlier version of twofold; fit the model "
                "again"
            )
        raise FileNotFoundError(
            f"{file}: there is no such file; name a folder that twofold cluster or "
            "save_model wrote"
        )
    if not file.is_file():  # opening a pipe would wait for a writer
        raise ValueError(f"{file}: is no regular file; {_AGAIN}")
    return file


def _read(path: Path) -> tuple[Record, dict[str, np.ndarray]]:
    """Return the record and the arrays of a file; parameters are not checked yet."""
    with safe_open(path, framework="numpy") as file:
        found = json.loads((file.metadata() or {}).get(_KEY, "{}"))
        record = read_record(found)
        # No array is read before all layouts are right; safetensors has compared them
        # with the size of the file.
        layouts = {name: _layout(file.get_slice(name)) for name in list(file.keys())}
        check_layouts(layouts, record.fit)
        arrays = {name: file.get_tensor(name) for name in layouts}
    del found["sha256"]
    if _digest(found, arrays) != record.sha256:
        raise ValueError("must be as it was written, but is damaged (SHA-256 differs)")
    check_values(arrays, record.fit)
    # Rounding in products of matrices depends on the order of their entries.
    return record, arrays | {
        name: np.asfortranarray(arrays[name]) for name in record.fit.column_major
    }


def _layout(entry: Any) -> tuple[str, tuple[int, ...]]:
    """Return the dtype and the shape of an array that has not been read."""
    dtype = entry.get_dtype()
    return _DTYPES.get(dtype, dtype), tuple(entry.get_shape())


def _digest(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Compute the SHA-256 of a record without its digest, and of the arrays."""
    digest = hashlib.sha256(to_json(facts).encode())
    for name in sorted(arrays):
        little_endian = arrays[name].dtype.newbyteorder("<")
        digest.update(name.encode())
        digest.update(arrays[name].astype(little_endian, order="C", copy=False).data)
    return digest.hexdigest()


def _check_channels(model: TSNMF) -> None:
    """Raise a ValueError if the channels of a model cannot be written."""
    check_channels(model.channels)
    if model.state_.mapping is not None:
        check_channels(model.state_.mapping.transformer)


def _parameters(model: TSNMF) -> dict[str, Any]:
    """Return the parameters as JSON holds them.

    ``channels`` and ``init`` are None if they are no names: they are written elsewhere.
    """
    parameters = model.get_params(deep=False)
    kinds = (("channels", str), ("init", str), ("random_state", Integral))
    for name, kind in kinds:
        if not isinstance(parameters[name], kind):
            parameters[name] = None
    if parameters["missing_values"] is not None:
        # A string, since JSON has neither NaN nor infinity.
        parameters["missing_values"] = str(float(parameters["missing_values"]))
    return parameters


def _facts(model: TSNMF, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the fields of the record but ``about`` and the digest."""
    state, predictor = model.state_, model.state_.predictor
    found = state.assessment
    names = getattr(model, "feature_names_in_", None)
    fit = {
        "scale": state.scale,
        "typical_norm": float(state.typical_norm),
        "assign_labels": state.assign_labels,
        "graph": predictor.graph,
        "n_neighbors": int(predictor.n_neighbors),
        "weights": predictor.weights,
        "terms": list(model.objective_terms_),
        "feature_names": None if names is None else list(map(str, names)),
        "column_major": [name for name, array in arrays.items() if array.flags.fnc],
        "mapping": mapping_facts(state.mapping),
        "alignment": alignment_facts(state.alignment),
        "neighbor_recall": model.neighbor_recall_,
        "assessment": None
        if found is None or np.isnan(found.structure)
        else {"structure": found.structure, "agreement": found.agreement},
    }
    named = isinstance(model.channels, str)
    return {
        "format": FORMAT,
        "version": VERSION,
        "twofold": twofold.__version__,
        "parameters": _parameters(model),
        "fit": fit,
        "channels": None if named else transformer_facts(model.channels),
    }


def _arrays(model: TSNMF) -> dict[str, np.ndarray]:
    """Return all arrays of a fitted model."""
    state, (left, right) = model.state_, model.state_.predictor.sides
    arrays = {name: getattr(model, name) for name in ARRAYS if name.endswith("_")} | {
        "objective_terms": np.stack(list(model.objective_terms_.values())),
        "fitted_coefficients": state.predictor.coefficients,
        "fitted_labels": state.labels,
        "lengths": state.lengths,
        "centers": state.centers,
        "left.directions": state.projections[0],
        "right.directions": state.projections[1],
    }
    parts = {"left": left, "right": right, "completion": state.completion}
    for prefix, part in parts.items():
        if part is not None:
            arrays |= {f"{prefix}.{name}": array for name, array in vars(part).items()}
    arrays |= alignment_arrays(state.alignment)
    if not isinstance(model.init, str):
        init = to_numpy(read_numbers(model.init, "init"))
        arrays["init"] = init.astype(np.float64, copy=False)
    return {name: to_numpy(array) for name, array in arrays.items()}


def _fitted_model(record: Record, arrays: dict[str, np.ndarray]) -> TSNMF:
    """Return the model of checked facts and arrays; its parameters are checked here."""
    # Files that do not name the channels are older than any but pixels.
    parameters: dict[str, Any] = {"channels": PIXELS} | record.parameters
    model = TSNMF(**parameters)
    if record.channels is not None:
        model.channels = record.channels.make()
    model.init = arrays.get("init", model.init)
    if isinstance(model.missing_values, str):
        model.missing_values = float(model.missing_values)
    check_parameters(model)
    for name, array in arrays.items():
        if name.endswith("_"):
            setattr(model, name, array)
    names, rows = record.fit.terms, arrays["objective_terms"]
    model.objective_terms_ = dict(zip(names, rows, strict=True))
    model.n_iter_ = rows.shape[1]
    model.neighbor_recall_ = record.fit.neighbor_recall
    model.state_ = _fitted_state(record.fit, arrays)
    model.sample_shape_ = model.state_.sample_shape
    model.n_features_in_ = math.prod(model.sample_shape_)
    if record.fit.feature_names is not None:
        model.feature_names_in_ = np.array(record.fit.feature_names, dtype=object)
    return model


def _fitted_state(fit: Fit, arrays: dict[str, np.ndarray]) -> FittedState:
    predictor = Predictor(
        sides=tuple(_part(TrainingSide, side, arrays) for side in ("left", "right")),
        coefficients=arrays["fitted_coefficients"],
        # The weight of a term that did not exist yet was 0.
        weights=dict.fromkeys(term_weights(TSNMF()), 0.0) | fit.weights,
        graph=fit.graph,
        n_neighbors=fit.n_neighbors,
    )
    complete = "completion.gain" in arrays
    shape, mapping = arrays["components_"].shape[1:], fit.mapping
    told = fit.assessment
    return FittedState(
        components=arrays["components_"],
        projections=(arrays["left.directions"], arrays["right.directions"]),
        predictor=predictor,
        lengths=arrays["lengths"],
        labels=arrays["fitted_labels"],
        assign_labels=fit.assign_labels,
        scale=fit.scale,
        typical_norm=fit.typical_norm,
        sample_shape=shape,
        completion=_part(Completion, "completion", arrays) if complete else None,
        alignment=None if fit.alignment is None else fit.alignment.make(arrays),
        mapping=None if mapping is None else mapping.make(shape, fit.scale),
        known_centers=arrays["centers"],
        assessment=None
        if told is None
        else Assessment(told.structure, told.agreement, None),
    )


def _part(kind: type[_Part], prefix: str, arrays: dict[str, np.ndarray]) -> _Part:
    """Return a part of the state all of whose fields are arrays."""
    return kind(**{f.name: arrays[f"{prefix}.{f.name}"] for f in fields(kind)})
