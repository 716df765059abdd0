"""A fitted TSNMF taken apart into facts and arrays, and put together again."""

import math
import reprlib
import sys
from numbers import Integral
from typing import Any

import numpy as np

from twofold.core.arrays import to_numpy
from twofold.core.missing.completion import Completion
from twofold.core.prediction import Predictor, TrainingSide
from twofold.estimators.fitted import FittedState
from twofold.estimators.model_table import (
    FACTS,
    RECORDED,
    SIDES,
    Facts,
    are_sizes,
    check_fields,
)
from twofold.estimators.parameters import check_counts, read_directions
from twofold.estimators.reading import read_numbers
from twofold.estimators.tsnmf import TSNMF

_PUBLIC = (
    "labels",
    "components",
    "coefficients",
    "left_projection",
    "right_projection",
    "objective_history",
    "reconstruction_error",
)
"""Arrays that are attributes of the same name and an underscore."""

_PAIRS = ("n_directions", "sample_shape", "completion")
"""Facts that are lists in JSON."""

_PARTS = ("mean", "left", "right", "gain")
"""Arrays of a completion."""

_NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
"""Words for ``missing_values`` that JSON has no number for."""


def check_parameters(model: TSNMF) -> None:
    """Refuse what ``fit`` would, as far as that can be told without samples."""
    model._validate_params()
    check_counts(model, ("n_clusters", "n_neighbors", "n_init", "max_iter"))
    if model.n_directions is not None:
        read_directions(model.n_directions)
    shape = model.sample_shape
    if not (shape is None or are_sizes(shape, 1, 2, 3)):
        raise ValueError(
            f"sample_shape must be one to three sizes, got {reprlib.repr(shape)}"
        )
    marker = model.missing_values
    too_large = isinstance(marker, Integral) and abs(marker) > sys.float_info.max
    if too_large or isinstance(marker, bool):
        raise ValueError(
            f"missing_values must be a number or None, got {reprlib.repr(marker)}"
        )


# Apart


def parameters_of(model: TSNMF) -> dict[str, Any]:
    """The parameters, None being an ``init`` that is an array."""
    parameters = model.get_params()
    if not isinstance(parameters["init"], str):
        parameters["init"] = None
    if not isinstance(parameters["random_state"], Integral):
        parameters["random_state"] = None
    marker = parameters["missing_values"]
    if marker is not None and not math.isfinite(marker):
        parameters["missing_values"] = str(float(marker))
    return parameters


def facts_of(model: TSNMF) -> Facts:
    """What ``table`` and ``fitted`` need to know of a fitted model."""
    n, k = model.coefficients_.shape
    names = getattr(model, "feature_names_in_", None)
    completion = model.state_.completion
    return Facts(
        n_samples=int(n),
        n_clusters=int(k),
        n_found=int(model.state_.labels.max()) + 1,
        n_iter=int(model.n_iter_),
        n_directions=tuple(int(p.shape[-1]) for p in model.state_.projections),
        sample_shape=tuple(map(int, model.sample_shape_)),
        scale=model.state_.scale,
        graph=model.state_.predictor.graph,
        feature_names=None if names is None else list(map(str, names)),
        completion=None if completion is None else tuple(completion.gain.shape[1:]),
        reading=model.state_.assign_labels,
    )


def arrays_of(model: TSNMF) -> dict[str, np.ndarray]:
    """All numbers of a fitted model, as ``table`` wants them."""
    state, known = model.state_, model.state_.predictor
    arrays = {name: getattr(model, f"{name}_") for name in _PUBLIC} | {
        "fitted_labels": state.labels,
        "fitted_coefficients": known.coefficients,
        "lengths": state.lengths,
        "centers": state.centers,
        "typical_norm": np.float64(state.typical_norm),
        "graph_weight": np.float64(known.weights["graph_weight"]),
        "n_neighbors": np.int64(min(known.n_neighbors, len(known.coefficients))),
    }
    arrays |= {f"objective_{t}": model.objective_terms_[t] for t in RECORDED}
    sides = zip(SIDES, state.projections, known.sides, strict=True)
    for name, directions, side in sides:
        arrays[f"{name}_directions"] = directions
        arrays[f"{name}_features"] = side.features
        arrays[f"{name}_centroids"] = side.centroid_features
        arrays[f"{name}_bandwidth"] = side.bandwidth
    if model.state_.completion is not None:
        arrays |= {f"completion_{p}": getattr(state.completion, p) for p in _PARTS}
        arrays["energy_weight"] = np.float64(known.weights["energy_weight"])
    if not isinstance(model.init, str):
        arrays["init"] = read_numbers(model.init, "init")
    return {name: _stored(array) for name, array in arrays.items()}


def _stored(array: Any) -> np.ndarray:
    """A NumPy array whose bytes are in the order that all files have."""
    numbers = np.asarray(to_numpy(array))
    kind = np.dtype(np.int64) if numbers.dtype.kind == "i" else numbers.dtype
    return numbers.astype(kind.newbyteorder("<"), copy=False)


# Together


def read_facts(found: Any) -> Facts:
    """Facts from JSON, validated; those of earlier versions lack the last ones."""
    if isinstance(found, dict):
        found = {"completion": None, "reading": "k-means"} | found
    check_fields(found, FACTS, "fit")
    pairs = {k: tuple(v) for k, v in found.items() if k in _PAIRS and v is not None}
    facts = Facts(**(found | pairs))
    if not facts.n_found <= facts.n_clusters <= facts.n_samples:
        raise ValueError(
            "n_found, n_clusters and n_samples must not fall, got "
            f"{facts.n_found}, {facts.n_clusters}, {facts.n_samples}"
        )
    names, n_features = facts.feature_names, math.prod(facts.sample_shape)
    if names is not None and len(names) != n_features:
        raise ValueError(
            f"feature_names must be {n_features} for samples of shape "
            f"{facts.sample_shape}, got {len(names)}"
        )
    return facts


def read_parameters(found: dict[str, Any]) -> dict[str, Any]:
    """Parameters from JSON, validated.

    Those that are not there, which a later version has brought, are at their defaults,
    but for what labels were before there was a choice.
    """
    defaults = TSNMF().get_params()
    found = defaults | {"assign_labels": "k-means"} | found
    check_fields(found, dict.fromkeys(defaults, ("", lambda _: True)), "parameters")
    if not isinstance(found["init"], str | None):
        raise ValueError(f"init must be a string, got {reprlib.repr(found['init'])}")
    parameters: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in found.items()
    }
    marker = found["missing_values"]
    if isinstance(marker, str):
        parameters["missing_values"] = _NOT_FINITE.get(marker, marker)
    stand_in: dict[str, Any] = {"init": "random"} if found["init"] is None else {}
    check_parameters(TSNMF(**(parameters | stand_in)))
    return parameters


def fitted(
    parameters: dict[str, Any], facts: Facts, arrays: dict[str, np.ndarray]
) -> TSNMF:
    """The model that was taken apart, all of this having been checked."""
    model = TSNMF(**parameters)
    if model.init is None:
        model.init = arrays["init"]
    state: dict[str, Any] = {f"{name}_": arrays[name] for name in _PUBLIC} | {
        "objective_terms_": {term: arrays[f"objective_{term}"] for term in RECORDED},
        "n_iter_": facts.n_iter,
        "sample_shape_": facts.sample_shape,
        "n_features_in_": math.prod(facts.sample_shape),
        "state_": _fitted_state(model, facts, arrays),
    }
    if facts.feature_names is not None:
        state["feature_names_in_"] = np.array(facts.feature_names, dtype=object)
    for name, value in state.items():
        setattr(model, name, value)
    return model


def _completion(facts: Facts, arrays: dict[str, np.ndarray]) -> Completion | None:
    if facts.completion is None:
        return None
    return Completion(*(arrays[f"completion_{part}"] for part in _PARTS))


def _fitted_state(
    model: TSNMF, facts: Facts, arrays: dict[str, np.ndarray]
) -> FittedState:
    parts = ("features", "centroids", "bandwidth")
    sides = ([arrays[f"{side}_{part}"] for part in parts] for side in SIDES)
    # Without a completion nothing is ever filled in, and no weight was written.
    energy = float(arrays.get("energy_weight", model.energy_weight))
    predictor = Predictor(
        sides=tuple(TrainingSide(*side) for side in sides),
        coefficients=arrays["fitted_coefficients"],
        weights={
            "energy_weight": energy,
            "graph_weight": float(arrays["graph_weight"]),
        },
        graph=facts.graph,
        n_neighbors=int(arrays["n_neighbors"]),
    )
    left, right = (arrays[f"{side}_directions"] for side in SIDES)
    return FittedState(
        components=arrays["components"],
        projections=(left, right),
        predictor=predictor,
        lengths=arrays["lengths"],
        labels=arrays["fitted_labels"],
        assign_labels=facts.reading,
        scale=facts.scale,
        typical_norm=float(arrays["typical_norm"]),
        sample_shape=facts.sample_shape,
        completion=_completion(facts, arrays),
        known_centers=arrays["centers"],
    )
